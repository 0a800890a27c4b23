/// The merging loop that both BPE families share.
///
/// A piece of text is a row of symbols. While any two neighbours may merge, the pair of highest
/// priority is replaced by the symbol they form; of equal priority, the leftmost. With a heap of
/// candidate pairs and a linked list of symbols that takes O(n log n) for n symbols, also for a
/// million equal letters, where the definition taken literally takes O(n^2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "skald/ids.h"
#include "text/pace.h"

namespace skald::text {

/// One symbol of the text while it is being merged. Indices and lengths are 32-bit: texts are
/// shorter than 2^30 bytes (Tokenizer::kMaxTextBytes).
struct Symbol {
  int32_t begin = 0;   ///< offset of its bytes in the text
  int32_t length = 0;  ///< bytes; 0 once it was merged into its left neighbour
  int32_t prev = -1;   ///< index of the left neighbour, or -1
  int32_t next = -1;   ///< index of the right neighbour, or -1
  TokenId id = kNoToken;
};

/// What two neighbours would become.
struct Merge {
  uint32_t rank;  ///< smaller is more urgent
  TokenId id;
};

/// A pair waiting to be merged.
struct MergeCandidate {
  uint32_t rank;
  int32_t left;    // index of the left symbol
  int32_t length;  // of both symbols together when this was noted: tells whether it is outdated
  TokenId id;

  bool operator>(const MergeCandidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

/// Of one call: memory reused from piece to piece, and when to ask whether to stop.
struct MergeScratch {
  explicit MergeScratch(StopCheck stop) : pace(stop) {}

  Pace pace;
  std::vector<Symbol> symbols;
  std::vector<MergeCandidate> heap;  // a heap under operator>: the smallest first
};

/// Merges scratch->symbols, a list linked from index 0, until no pair is left that `find` knows.
/// `find(left, right)` is std::optional<Merge> of two neighbouring symbols; it must depend on
/// nothing but their bytes or ids. The result is the list that can be followed from index 0; false,
/// and no result, if the work was stopped.
template <typename Find>
bool MergeSymbols(const Find& find, MergeScratch* scratch) {
  std::vector<Symbol>& symbols = scratch->symbols;
  std::vector<MergeCandidate>& heap = scratch->heap;
  const auto candidate = [&](int32_t left) -> std::optional<MergeCandidate> {
    if (left < 0) return std::nullopt;
    const Symbol& l = symbols[static_cast<size_t>(left)];
    if (l.next < 0) return std::nullopt;
    const Symbol& r = symbols[static_cast<size_t>(l.next)];
    const std::optional<Merge> merge = find(l, r);
    if (!merge) return std::nullopt;
    return MergeCandidate{merge->rank, left, l.length + r.length, merge->id};
  };
  const auto push = [&](int32_t left) {
    if (const auto pair = candidate(left)) {
      heap.push_back(*pair);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  };

  heap.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    if (!scratch->pace.Go(1)) return false;
    if (const auto pair = candidate(static_cast<int32_t>(i))) heap.push_back(*pair);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    if (!scratch->pace.Go(1)) return false;
    const MergeCandidate best = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    Symbol& left = symbols[static_cast<size_t>(best.left)];
    // Outdated if the left symbol is gone, or either has grown: symbols never shrink, so the same
    // total length means the same two symbols.
    if (left.length == 0 || left.next < 0) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    if (left.length + right.length != best.length) continue;
    left.length = best.length;
    left.id = best.id;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].prev = best.left;
    push(left.prev);
    push(best.left);
  }
  return true;
}

}  // namespace skald::text
