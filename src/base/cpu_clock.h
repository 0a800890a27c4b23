/// CpuClock: processor time of one thread. What a busy machine gives to others does not count in
/// it, so it tells work from waiting.
#pragma once

#include <pthread.h>
#include <time.h>

namespace skald {

/// Made by the thread it is about; read by any while that thread lives.
class CpuClock {
 public:
  CpuClock() { pthread_getcpuclockid(pthread_self(), &clock_); }

  /// Seconds since the thread began.
  double Now() const {
    timespec now{};
    if (clock_gettime(clock_, &now) != 0) return 0;
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

 private:
  clockid_t clock_ = CLOCK_THREAD_CPUTIME_ID;
};

}  // namespace skald
