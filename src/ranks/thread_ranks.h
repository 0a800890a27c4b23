/// ThreadRanks: ranks that are threads of one process.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/awaited_number.h"
#include "ranks/exchange.h"

namespace skald::ranks {

/// Lets so many threads wait for each other, again and again. They spin for some tens of
/// microseconds, about as long as ranks are apart that have processors of their own, and then
/// sleep.
class Barrier {
 public:
  explicit Barrier(int count) : count_(count) {}

  /// Returns when all have called it. What each wrote before is visible to all afterwards.
  void Wait();

 private:
  const int count_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) AwaitedNumber round_;
};

/// Each rank copies what it lacks out of the rows of the others. Allocates nothing once made. The
/// ends must not outlive it.
class ThreadRanks {
 public:
  explicit ThreadRanks(int count);

  int count() const { return static_cast<int>(ends_.size()); }
  /// The end of one rank, for one thread at a time.
  Exchange& end(int rank) { return ends_[static_cast<size_t>(rank)]; }

 private:
  class End final : public Exchange {
   public:
    End(ThreadRanks* all, int rank) : all_(*all), rank_(rank) {}
    void Gather(const Columns& own) override;
    void GatherToFirst(const Columns& own) override;

   private:
    void CopyOthers(const Columns& own) const;

    ThreadRanks& all_;
    const int rank_;
  };

  Barrier barrier_;
  std::vector<Columns> given_;  // by rank
  std::vector<End> ends_;
};

}  // namespace skald::ranks
