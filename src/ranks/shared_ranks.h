/// SharedRanks: memory in common of ranks that are processes of one machine, through which they
/// exchange.
#pragma once

#include <atomic>
#include <cstdint>

#include "ranks/exchange.h"
#include "skald/status.h"

namespace skald::ranks {

/// One process makes it and hands the descriptor to the others. The memory has no name, so nothing
/// of it is left when all are gone, and its length is sealed.
///
/// What a rank gives goes through a block of shared memory, so many floats at a time: one piece for
/// a row or two of decode, some tens for a chunk of a prompt. A wait has no end of its own. Who
/// sees that a rank is gone calls Break, and the ranks are lost: from then on every call returns at
/// once and brings nothing, so that a step ends, and who has called it asks lost() before it uses a
/// number.
class SharedRanks {
 public:
  /// Floats that a block holds: a megabyte, which stays in a second-level cache between who writes
  /// and who reads it. A chunk of a prompt takes some of them, and each costs a wait for the slower
  /// rank.
  static constexpr int64_t kBlockFloats = 262'144;

  /// Memory for `count` ranks; pages that nobody touches take none. Errors: kResourceExhausted with
  /// the number of bytes.
  static Result<SharedRanks> Create(int count);
  /// The same memory in another process, or again in this one. Takes the descriptor and closes it,
  /// also where it fails. Errors: kInvalidArgument where it is not memory of ranks.
  static Result<SharedRanks> Open(int descriptor);
  ~SharedRanks();
  SharedRanks(SharedRanks&& other) noexcept;
  SharedRanks& operator=(SharedRanks&&) = delete;

  int count() const { return count_; }
  /// Open for as long as this is.
  int descriptor() const { return descriptor_; }

  /// Gives all ranks up, in every process. Any thread.
  void Break();
  /// Nothing that a rank has brought since the last step can be trusted. Any thread.
  bool lost() const;

  /// Says that the process of a rank is not stopped, again and again. Any thread.
  void Beat(int rank);
  /// Changes with each Beat; 0 before the first.
  uint32_t beats(int rank) const;

  /// The end of one rank, for one thread of one process at a time.
  class End final : public Exchange {
   public:
    End(SharedRanks* all, int rank) : all_(*all), rank_(rank) {}
    void Gather(const Columns& own) override { Pass(own, Takers::kAll); }
    void GatherToFirst(const Columns& own) override { Pass(own, Takers::kFirst); }

   private:
    // Gives a piece at a time until all have given all; copies those of others if it takes.
    void Pass(const Columns& own, Takers takers);

    SharedRanks& all_;
    const int rank_;
    uint32_t round_ = 0;
  };

  End end(int rank) { return End(this, rank); }

 private:
  struct Meeting;  // at the front of the memory
  struct Pulse;    // behind it, of each rank
  struct Given;    // what stands in front of the floats of a block

  SharedRanks(int count, int descriptor);
  static uint64_t BytesFor(int count);
  Status Map();
  Meeting& meeting() const;
  Pulse& pulse(int rank) const;
  Given& given(int rank, uint32_t round) const;
  // Waits for all ranks; false where they are lost.
  bool Meet();

  int count_;
  int descriptor_;
  int spin_rounds_;  // before a rank that waits sleeps
  std::byte* memory_ = nullptr;
};

}  // namespace skald::ranks
