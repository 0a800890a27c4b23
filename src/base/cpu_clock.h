/// CpuClock: processor time of one thread, or of the whole process. What a busy machine gives to
/// others does not count in it, so it tells work from waiting.
#pragma once

#include <pthread.h>
#include <time.h>

namespace skald {

/// Of a thread: made by the thread it is about; read by any while that thread lives.
class CpuClock {
 public:
  CpuClock() { pthread_getcpuclockid(pthread_self(), &clock_); }

  /// Of all threads of this process together, those that have ended as well.
  static CpuClock OfProcess() { return CpuClock(CLOCK_PROCESS_CPUTIME_ID); }

  /// Seconds since the thread, or the process, began.
  double Now() const {
    timespec now{};
    if (clock_gettime(clock_, &now) != 0) return 0;
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

 private:
  explicit CpuClock(clockid_t clock) : clock_(clock) {}

  clockid_t clock_ = CLOCK_THREAD_CPUTIME_ID;
};

}  // namespace skald
