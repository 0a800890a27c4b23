/// Thread: one thread that ends before its owner does.
#pragma once

#include <pthread.h>

#include <thread>
#include <utility>

#include "base/float_mode.h"

namespace skald {

/// What `top -H` and debuggers call the calling thread: at most 15 characters.
inline void NameThisThread(const char* name) { pthread_setname_np(pthread_self(), name); }

/// The calling thread gives way from now on to all that do not: it gets about a tenth of a
/// processor that others want whole, and never interrupts one of them. For good: only the
/// privileged may take it back.
void GiveWay();

/// Runs a function on a thread of its own, in the FloatMode of the numerics. The destructor waits
/// for its return: the owner tells the function to return first. `name`: a literal, see above.
class Thread {
 public:
  template <typename Function>
  Thread(const char* name, Function function)
      : thread_([name, function = std::move(function)]() mutable {
          NameThisThread(name);
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
