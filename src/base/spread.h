/// Spread: keeps threads that work on one thing at the same time on processors of their own.
///
/// Where a machine is nearly full, Linux looks for no idle processor when it wakes a thread: so two
/// threads of a step come onto one, take turns there, and the step takes twice as long, until the
/// system balances its queues some milliseconds later. Pinning each thread would forbid the system
/// to move them away from where others work. So one that finds itself beside another one moves
/// once, and the system is free again.
#pragma once

#include <atomic>
#include <vector>

namespace skald {

class Spread {
 public:
  explicit Spread(int threads);

  /// For the thread `index`, as often as it begins a piece of work: some nanoseconds, or some 20 us
  /// where it moves. It moves where another thread was on its processor last, and one is left that
  /// it may use and that none of them was on.
  void Check(int index);

 private:
  struct alignas(64) Place {
    std::atomic<int> processor{-1};
  };

  bool IsShared(int index, int processor) const;
  void Move(Place* own) const;

  std::vector<Place> places_;  // by thread
};

}  // namespace skald
