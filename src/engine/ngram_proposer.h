/// NgramProposer: prompt look-up. What followed the last few tokens before, in prompt or output, is
/// likely to follow again: quotations, code, lists, edits of a given text (Saxena 2023, "Prompt
/// lookup decoding"; the same as "ngram" of vLLM and "lookup" of llama.cpp).
///
/// It looks for the last kLong tokens, then for the last kShort; the latest occurrence counts. A
/// text that repeats itself is continued round and round.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/proposer.h"

namespace skald::engine {

/// Where the n-grams of one text stand. A hash table without chains: a place holds the n-gram that
/// came last, and what it answers is compared token by token, so a collision costs a guess, never a
/// wrong one.
class NgramIndex {
 public:
  /// Long enough to be rarely wrong, and short enough to be found again soon after a change; the
  /// lengths that the two engines above search by default lie between.
  static constexpr size_t kLong = 4;
  static constexpr size_t kShort = 2;

  /// Places in each table: some twice the tokens of common contexts. Longer texts forget n-grams
  /// of long ago.
  static constexpr size_t kPlaces = 1 << 13;

  NgramIndex();

  /// Forgets everything. O(kPlaces).
  void Clear();

  /// The position after an earlier occurrence of the last n-gram of `tokens`, which must begin with
  /// the tokens of the last call since Clear. O(new tokens).
  std::optional<int64_t> Find(std::span<const TokenId> tokens);

 private:
  struct Table {
    size_t length = 0;            // of its n-grams
    std::vector<int32_t> behind;  // by hash: position behind the n-gram, 0 = none
  };
  static std::optional<int64_t> FindIn(const Table& table, std::span<const TokenId> tokens);

  std::array<Table, 2> tables_;
  size_t indexed_ = 0;  // n-grams that end before this token are in the tables
};

class NgramProposer : public Proposer {
 public:
  int64_t Propose(std::span<const DraftWish> wishes, int64_t) override;
  void Forget(const Sequence& sequence) override;

 private:
  // The index of a sequence; of none, to be used again.
  struct Slot {
    const Sequence* sequence = nullptr;
    std::unique_ptr<NgramIndex> index;
  };
  NgramIndex& IndexOf(const Sequence& sequence);

  std::vector<Slot> slots_;  // as many as sequences ever ran together
};

}  // namespace skald::engine
