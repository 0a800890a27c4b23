/// Thread: one thread that ends before its owner does.
#pragma once

#include <thread>
#include <utility>

namespace skald {

/// Runs a function on a thread of its own. The destructor waits for its return: the owner tells the
/// function to return first.
class Thread {
 public:
  template <typename Function>
  explicit Thread(Function function) : thread_(std::move(function)) {}
  ~Thread() { thread_.join(); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace skald
