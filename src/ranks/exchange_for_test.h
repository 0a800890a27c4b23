/// What every exchange among three ranks must do, by rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ranks/exchange.h"

namespace skald::ranks {

/// What is exchanged, and how often. Of these columns the ranks have those between two firsts.
struct Shape {
  static constexpr int kRanks = 3;

  int64_t firsts[kRanks + 1];
  int64_t most_rows;
  int rounds;

  int64_t width() const { return firsts[kRanks]; }
  int64_t stride() const { return width() + 2; }
};
/// The last rank has fewer columns than the others, and the second none in some of them.
inline constexpr Shape kNarrow = {{0, 8, 8, 11}, 20, 50};

inline float ExchangedFloat(int round, int64_t row, int64_t column) {
  return static_cast<float>((round * 131 + row * 7 + column) % 99'991);
}

/// Wrong floats of a rank after some rounds, every fifth to the first rank alone.
inline int WrongFloats(const Shape& shape, int rank, Exchange* end) {
  const int64_t first = shape.firsts[rank];
  const int64_t behind = shape.firsts[rank + 1];
  int wrong = 0;
  for (int round = 0; round < shape.rounds; ++round) {
    std::vector<float> rows(static_cast<size_t>(shape.most_rows * shape.stride()), -1);
    const int64_t count = 1 + (round * 7) % shape.most_rows;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = first; c < behind; ++c) {
        rows[static_cast<size_t>(i * shape.stride() + c)] = ExchangedFloat(round, i, c);
      }
    }
    const bool to_first = round % 5 == 4;
    const Columns own = {rows.data(), shape.stride(), count, first, behind - first};
    if (to_first) end->GatherToFirst(own);
    if (!to_first) end->Gather(own);
    // To the first alone: the others keep what they have, and no more.
    const bool whole = rank == 0 || !to_first;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t c = 0; c < shape.stride(); ++c) {
        const bool known = whole ? c < shape.width() : c >= first && c < behind;
        const float expected = known ? ExchangedFloat(round, i, c) : -1;
        wrong += rows[static_cast<size_t>(i * shape.stride() + c)] != expected;
      }
    }
  }
  return wrong;
}

}  // namespace skald::ranks
