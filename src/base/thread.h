/// Thread: one thread that ends before its owner does.
#pragma once

#include <thread>
#include <utility>

#include "base/float_mode.h"

namespace skald {

/// Runs a function on a thread of its own, in the FloatMode of the numerics. The destructor waits
/// for its return: the owner tells the function to return first.
class Thread {
 public:
  template <typename Function>
  explicit Thread(Function function)
      : thread_([function = std::move(function)]() mutable {
          const FloatMode mode;
          function();
        }) {}
  ~Thread() { thread_.join(); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace skald
