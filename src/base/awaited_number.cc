#include "base/awaited_number.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

#include "base/spin.h"

namespace skald {

void AwaitedNumber::Wake() {
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr,
          0);
}

uint32_t AwaitedNumber::AwaitOther(uint32_t value) {
  for (int spin = 0; spin < kSpinRounds; ++spin) {
    const uint32_t now = Get();
    if (now != value) return now;
    Pause();
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  uint32_t now = value_.load(std::memory_order_seq_cst);
  for (; now == value; now = value_.load(std::memory_order_seq_cst))
    syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return now;
}

}  // namespace skald
