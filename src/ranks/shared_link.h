/// SharedLink: the link of ranks that share memory.
#pragma once

#include <cstdint>
#include <utility>

#include "ranks/link.h"
#include "ranks/shared_ranks.h"

namespace skald::ranks {

class SharedLink final : public Link {
 public:
  SharedLink(SharedRanks memory, int rank)
      : memory_(std::move(memory)), rank_(rank), end_(memory_.end(rank)) {}

  int rank() const override { return rank_; }
  int count() const override { return memory_.count(); }
  int ranks_here() const override { return memory_.count(); }
  Exchange& exchange() override { return end_; }
  void Break() override { memory_.Break(); }
  bool lost() const override { return memory_.lost(); }
  void Beat() override { memory_.Beat(rank_); }
  uint32_t beats(int rank) override { return memory_.beats(rank); }

 private:
  SharedRanks memory_;
  const int rank_;
  SharedRanks::End end_;
};

}  // namespace skald::ranks
