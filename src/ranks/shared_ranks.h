/// SharedRanks: ranks that are processes of one machine, with memory that they share.
#pragma once

#include <atomic>
#include <cstdint>

#include "ranks/exchange.h"
#include "skald/status.h"

namespace skald::ranks {

/// Made by one process, which then forks: the memory has no name, so nothing of it is left when all
/// are gone. Each process then takes the end of its rank.
///
/// What a rank gives goes through a block of shared memory, some rows at a time. No wait is longer
/// than `patience_seconds`. Where a rank does not come, or somebody has called Break, the ranks are
/// lost: from then on every call returns at once and brings nothing, so that a step ends, and who
/// has called it asks lost() before it uses a number.
class SharedRanks {
 public:
  struct Sizes {
    int count = 0;
    int64_t row_floats = 0;  ///< of the widest row, of all ranks together
    double patience_seconds = 8;
  };

  /// Errors: kResourceExhausted with the number of bytes.
  static Result<SharedRanks> Create(const Sizes& sizes);
  ~SharedRanks();
  SharedRanks(SharedRanks&& other) noexcept;
  SharedRanks& operator=(SharedRanks&&) = delete;

  /// Gives all ranks up, in every process. Any thread.
  void Break();
  /// Nothing that a rank has brought since the last step can be trusted.
  bool lost() const;

  /// The end of one rank, for one thread of one process at a time.
  class End final : public Exchange {
   public:
    End(SharedRanks* all, int rank) : all_(*all), rank_(rank) {}
    void Gather(const Columns& own) override { Pass(own, Takers::kAll); }
    void GatherToFirst(const Columns& own) override { Pass(own, Takers::kFirst); }

   private:
    enum class Takers { kAll, kFirst };
    // Gives some rows at a time until all have given all; copies them if it takes.
    void Pass(const Columns& own, Takers takers);

    SharedRanks& all_;
    const int rank_;
    uint32_t round_ = 0;
  };

  End end(int rank) { return End(this, rank); }

 private:
  struct Meeting;  // at the front of the memory
  struct Given;    // what stands in front of the floats of a block

  SharedRanks(const Sizes& sizes, std::byte* memory, uint64_t bytes);
  Meeting& meeting() const;
  Given& given(int rank, uint32_t round) const;
  // Waits for all ranks; false where they are lost.
  bool Meet();

  Sizes sizes_;
  std::byte* memory_;
  uint64_t bytes_;
};

}  // namespace skald::ranks
