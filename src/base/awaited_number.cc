#include "base/awaited_number.h"

#include "base/futex.h"
#include "base/spin.h"

namespace skald {

void AwaitedNumber::Wake() {
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  FutexWakeAll(value_);
}

uint32_t AwaitedNumber::AwaitOther(uint32_t value) {
  for (int spin = 0; spin < kSpinRounds; ++spin) {
    const uint32_t now = Get();
    if (now != value) return now;
    Pause();
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  uint32_t now = value_.load(std::memory_order_seq_cst);
  for (; now == value; now = value_.load(std::memory_order_seq_cst)) FutexSleep(value_, value);
  // Relaxed: who still counts it as asleep wakes nobody, which costs a system call.
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return now;
}

}  // namespace skald
