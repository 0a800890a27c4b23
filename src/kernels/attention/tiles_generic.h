/// The two matrix products of attention over a vector type, for a few rows. Include inside a target
/// region (isa/vec_avx512.h says how).
///
/// Each loaded vector of K or V serves R rows, and each row's chains are exactly those of numerics
/// 3.7: which rows stand beside it changes nothing.
///
/// Accumulators start with `= {}` and loops over them have constant bounds: gcc 12 leaves an array
/// that a loop has initialized in memory.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"

namespace skald::kernels {

/// Vectors that a kernel of R rows handles at a time: a power of two, as many as there are
/// accumulators for. 8 chains are needed to hide the latency of an FMA (two units, 4 cycles).
template <typename V, int R>
constexpr int VectorsFor() {
  if (R < 4 && 8 * R <= V::kAccumulators) return 8;
  if (4 * R <= V::kAccumulators) return 4;
  return 2 * R <= V::kAccumulators ? 2 : 1;
}

/// Scaled queries of consecutive rows, transposed: element d of row r at first[d * stride + r].
struct QueryRows {
  const float* first;
  int64_t stride;
  int64_t key_dim;
};

/// S of R rows against N tiles of 16 tokens.
///   tiles     N tiles of [key_dim][16]
///   scores    row r, tile j at scores + r * kScoreStride + 16 * j
template <typename V, typename T, int R, int N>
inline void ScoreTiles(const std::byte* const* tiles, QueryRows query, float* scores) {
  const T* tile[N];
  for (int j = 0; j < N; ++j) tile[j] = reinterpret_cast<const T*>(tiles[j]);
  V acc[R][N] = {};
  const float* q = query.first;
  for (int64_t d = 0; d < query.key_dim; ++d, q += query.stride) {
    V k[N];
    for (int j = 0; j < N; ++j) k[j] = V::Load(tile[j] + d * kKeyTileTokens);
    for (int r = 0; r < R; ++r) {
      const V x = V::Broadcast(q[r]);
      for (int j = 0; j < N; ++j) acc[r][j] = Fma(k[j], x, acc[r][j]);
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < N; ++j) Store(acc[r][j], scores + r * kScoreStride + 16 * j);
  }
}

/// ScoreTiles for a range of tiles of a partition: N at a time, then the rest by halves.
struct TileRange {
  int first;
  int end;
};
template <typename V, typename T, int R, int N>
inline void ScoreRange(const PartitionView& view, TileRange tiles, QueryRows query, float* scores) {
  for (; tiles.first + N <= tiles.end; tiles.first += N) {
    ScoreTiles<V, T, R, N>(view.key_tiles + tiles.first, query,
                           scores + kKeyTileTokens * tiles.first);
  }
  if constexpr (N > 1) {
    if (tiles.first < tiles.end) ScoreRange<V, T, R, N / 2>(view, tiles, query, scores);
  }
}

/// o_p += V * e for R rows that see all of block.range, N vectors of 16 value elements.
///   e        row r at e + r * kScoreStride, indexed by position in the partition
///   partial  row r at partial + r * block.padded, indexed by value element
template <typename V, typename T, int R, int N>
inline void AddValueColumns(const ValueBlock& block, const float* e, float* partial) {
  V acc[R][N] = {};
  float* sums = partial + block.column;
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < N; ++j) acc[r][j] = V::Load(sums + r * block.padded + 16 * j);
  }
  for (int64_t t = block.range.begin; t < block.range.end;) {
    const int64_t page = t / kPageTokens;
    const int64_t page_end = (page + 1) * kPageTokens;
    const int64_t stop = page_end < block.range.end ? page_end : block.range.end;
    const T* row = reinterpret_cast<const T*>(block.view->value_pages[page]) +
                   t % kPageTokens * block.padded + block.column;
    for (; t < stop; ++t, row += block.padded) {
      V v[N];
      for (int j = 0; j < N; ++j) v[j] = V::Load(row + 16 * j);
      for (int r = 0; r < R; ++r) {
        const V weight = V::Broadcast(e[r * kScoreStride + t]);
        for (int j = 0; j < N; ++j) acc[r][j] = Fma(v[j], weight, acc[r][j]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < N; ++j) Store(acc[r][j], sums + r * block.padded + 16 * j);
  }
}

/// AddValueColumns for all columns from block.column on: N vectors at a time, then the rest by
/// halves.
template <typename V, typename T, int R, int N>
inline void AddValues(ValueBlock block, const float* e, float* partial) {
  for (; block.column + 16 * N <= block.padded; block.column += 16 * N) {
    AddValueColumns<V, T, R, N>(block, e, partial);
  }
  if constexpr (N > 1) {
    if (block.column < block.padded) AddValues<V, T, R, N / 2>(block, e, partial);
  }
}

}  // namespace skald::kernels
