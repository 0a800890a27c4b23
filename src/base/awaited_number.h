/// AwaitedNumber: a number that threads of one process wait for, awake at first and then asleep.
///
/// As std::atomic::wait, which yields between the two. Where two threads that wait for each other
/// have come onto one processor, who yields hands it to the other, which does the same: neither
/// ever sleeps, and they stay there, with another processor idle, until the system looks for that,
/// some milliseconds later. Who sleeps is given an idle processor when it is woken.
#pragma once

#include <atomic>
#include <cstdint>

namespace skald {

class AwaitedNumber {
 public:
  explicit AwaitedNumber(uint32_t value = 0) : value_(value) {}

  /// What was written before the number became this one is visible to who sees it.
  uint32_t Get() const { return value_.load(std::memory_order_acquire); }
  /// While nobody waits for it.
  void Set(uint32_t value) { value_.store(value, std::memory_order_relaxed); }
  /// Adds and returns the sum; below 0 it goes round. Wakes nobody.
  uint32_t Add(uint32_t difference) {
    return value_.fetch_add(difference, std::memory_order_seq_cst) + difference;
  }
  /// Wakes all that sleep, behind Add. Costs a look where nobody does, else a system call.
  void Wake();
  /// Returns another value than `value` when it has one. Sleeps after kSpinRounds.
  uint32_t AwaitOther(uint32_t value);

 private:
  std::atomic<uint32_t> value_;
  // Who is about to sleep counts itself before it looks at the value for the last time, who changes
  // it looks at this behind that: one of both sees the other.
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace skald
