/// The two matrix products of attention over a vector type, for a few rows. Include inside a target
/// region (isa/vec_avx512.h says how).
///
/// Each loaded vector of K or V serves R rows, and each row's chains are exactly those of numerics
/// 3.7: which rows stand beside it changes nothing.
///
/// Accumulators are initialized one by one (Accumulators below) and loops over them have constant
/// bounds: gcc 12 leaves an array that a loop has initialized in memory, and clears one that starts
/// with `= {}` in memory first.
#pragma once

#include <array>
#include <utility>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/isa/intrinsics.h"

namespace skald::kernels {

/// Vectors that a kernel of R rows handles at a time: a power of two, as many as there are
/// accumulators for. 8 chains are needed to hide the latency of an FMA (two units, 4 cycles).
template <typename V, int R>
constexpr int VectorsFor() {
  if (R < 4 && 8 * R <= V::kAccumulators) return 8;
  if (4 * R <= V::kAccumulators) return 4;
  return 2 * R <= V::kAccumulators ? 2 : 1;
}

/// {start(0), start(1), ...}.
template <typename V, typename Start, int... kIndex>
[[gnu::always_inline]] inline std::array<V, sizeof...(kIndex)> Accumulators(
    const Start& start, std::integer_sequence<int, kIndex...>) {
  return {start(kIndex)...};
}

/// Where K and V are read.
enum class Source {
  kCache,    ///< in the pages, from memory: what comes after is asked for meanwhile
  kScratch,  ///< widened, from L2
};

/// Asks for `bytes` bytes that are read a while later. Into L2: the few lines that L1 can wait for
/// are left to what is needed now. In small parts, each beside some arithmetic: in one piece they
/// hold up everything behind them. The hardware's own prefetchers end at each page of 4 KiB, which
/// is where K and V of a head go on somewhere else, and fall behind a loop that computes.
template <typename V, int kBytes>
[[gnu::always_inline]] inline void AskFor(const std::byte* p) {
  for (int line = 0; line < kBytes; line += 64) _mm_prefetch(p + line, _MM_HINT_T1);
}

/// Scaled queries of consecutive rows, transposed: element d of row r at first[d * stride + r].
struct QueryRows {
  const float* first;
  int64_t stride;
  int64_t key_dim;
};

/// S of R rows against N tiles of 16 tokens.
///   first     the first of N tiles of [key_dim][16] in the view, even if N is
///   scores    row r, tile j at scores + r * kScoreStride + 16 * j
template <typename V, typename T, Source kSource, int R, int N>
inline void ScoreTiles(const PartitionView& view, int first, QueryRows query, float* scores) {
  constexpr int kBytes = (N == 1 ? 1 : kPageTiles) * kKeyTileTokens * sizeof(T);
  const T* tile[N];
  for (int j = 0; j < N; ++j) tile[j] = reinterpret_cast<const T*>(view.key_tiles[first + j]);
  // Row r, tile j at r * N + j.
  auto acc =
      Accumulators<V>([](int) { return V::Zero(); }, std::make_integer_sequence<int, R * N>());
  const float* q = query.first;
  for (int64_t d = 0; d < query.key_dim; ++d, q += query.stride) {
    V k[N];
    for (int j = 0; j < N; ++j) k[j] = V::Load(tile[j] + d * kKeyTileTokens);
    if constexpr (kSource == Source::kCache) {
      for (int j = 0; j < N; j += kPageTiles) {
        const int64_t line = first % kPageTiles * query.key_dim + d;  // an odd tile comes alone
        AskFor<V, kBytes>(view.after_keys[(first + j) / kPageTiles] + line * kBytes);
      }
    }
    for (int r = 0; r < R; ++r) {
      const V x = V::Broadcast(q[r]);
      for (int j = 0; j < N; ++j) acc[r * N + j] = Fma(k[j], x, acc[r * N + j]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < N; ++j) Store(acc[r * N + j], scores + r * kScoreStride + 16 * j);
  }
}

/// ScoreTiles for a range of tiles of a partition: N at a time, then the rest by halves.
template <typename V, typename T, Source kSource, int R, int N>
inline void ScoreRange(const PartitionView& view, TileRange tiles, QueryRows query, float* scores) {
  for (; tiles.first + N <= tiles.end; tiles.first += N) {
    ScoreTiles<V, T, kSource, R, N>(view, tiles.first, query,
                                    scores + kKeyTileTokens * tiles.first);
  }
  if constexpr (N > 1) {
    if (tiles.first < tiles.end) ScoreRange<V, T, kSource, R, N / 2>(view, tiles, query, scores);
  }
}

/// o_p += V * e for R rows that see all of block.range, N vectors of 16 value elements.
///   e        row r at e + r * kScoreStride, indexed by position in the partition
///   partial  row r at partial + r * block.padded, indexed by value element
template <typename V, typename T, Source kSource, int R, int N>
inline void AddValueColumns(const ValueBlock& block, const float* e, float* partial) {
  constexpr int kBytes = N * 16 * sizeof(T);
  float* sums = partial + block.column;
  // Row r, vector j at r * N + j.
  auto acc =
      Accumulators<V>([&](int i) { return V::Load(sums + i / N * block.padded + 16 * (i % N)); },
                      std::make_integer_sequence<int, R * N>());
  for (int64_t t = block.range.begin; t < block.range.end;) {
    const int64_t page = t / kPageTokens;
    const int64_t page_end = (page + 1) * kPageTokens;
    const int64_t stop = page_end < block.range.end ? page_end : block.range.end;
    const T* row = reinterpret_cast<const T*>(block.view->value_pages[page]) +
                   t % kPageTokens * block.padded + block.column;
    const std::byte* after =
        block.view->after_values[page] +
        (t % kPageTokens * block.padded + block.column) * static_cast<int64_t>(sizeof(T));
    for (; t < stop; ++t, row += block.padded) {
      V v[N];
      for (int j = 0; j < N; ++j) v[j] = V::Load(row + 16 * j);
      if constexpr (kSource == Source::kCache) {
        AskFor<V, kBytes>(after);
        after += block.padded * static_cast<int64_t>(sizeof(T));
      }
      for (int r = 0; r < R; ++r) {
        const V weight = V::Broadcast(e[r * kScoreStride + t]);
        for (int j = 0; j < N; ++j) acc[r * N + j] = Fma(v[j], weight, acc[r * N + j]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < N; ++j) Store(acc[r * N + j], sums + r * block.padded + 16 * j);
  }
}

/// AddValueColumns for all columns from block.column on: N vectors at a time, then the rest by
/// halves.
template <typename V, typename T, Source kSource, int R, int N>
inline void AddValues(ValueBlock block, const float* e, float* partial) {
  for (; block.column + 16 * N <= block.padded; block.column += 16 * N) {
    AddValueColumns<V, T, kSource, R, N>(block, e, partial);
  }
  if constexpr (N > 1) {
    if (block.column < block.padded) AddValues<V, T, kSource, R, N / 2>(block, e, partial);
  }
}

}  // namespace skald::kernels
