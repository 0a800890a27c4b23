#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

namespace skald {

void FutexSleep(const std::atomic<uint32_t>& word, uint32_t value) {
  const timespec bound = {1, 0};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &bound, nullptr, 0);
}

void FutexWakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace skald
