/// Attention and AppendKv over a vector type. Include inside a target region (isa/vec_avx512.h says
/// how).
///
/// A block of rows (tokens x query heads of the group) walks over the partitions. In each, the rows
/// are taken R at a time through four steps: ScoreTiles (lanes are tokens), SoftmaxRow, AddValues
/// (lanes are value elements), MergeRow. Each loaded vector of K or V serves R rows, and each row's
/// chains are exactly those of numerics 3.7: which rows stand beside it changes nothing.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/isa/exp_generic.h"

namespace skald::kernels {

/// Vectors that a kernel of R rows handles at a time: a power of two, as many as there are
/// accumulators for.
template <typename V, int R>
constexpr int VectorsFor() {
  if (4 * R <= V::kAccumulators) return 4;
  return 2 * R <= V::kAccumulators ? 2 : 1;
}

/// S of R rows against N tiles of 16 tokens.
///   tiles     N tiles of [key_dim][16]
///   query     [key_dim][R], scaled
///   scores    row r, tile j at scores + r * kScoreStride + 16 * j
template <typename V, typename T, int R, int N>
inline void ScoreTiles(const std::byte* const* tiles, int key_dim, const float* query,
                       float* scores) {
  const T* tile[N];
  V acc[R][N];
  for (int j = 0; j < N; ++j) tile[j] = reinterpret_cast<const T*>(tiles[j]);
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < N; ++j) acc[r][j] = V::Zero();
  }
  for (int64_t d = 0; d < key_dim; ++d) {
    V k[N];
    for (int j = 0; j < N; ++j) k[j] = V::Load(tile[j] + d * kKeyTileTokens);
    for (int r = 0; r < R; ++r) {
      const V q = V::Broadcast(query[d * R + r]);
      for (int j = 0; j < N; ++j) acc[r][j] = Fma(k[j], q, acc[r][j]);
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
inline void ScoreRange(const PartitionView& view, TileRange tiles, int key_dim, const float* query,
                       float* scores) {
  for (; tiles.first + N <= tiles.end; tiles.first += N) {
    ScoreTiles<V, T, R, N>(view.key_tiles + tiles.first, key_dim, query,
                           scores + kKeyTileTokens * tiles.first);
  }
  if constexpr (N > 1) {
    if (tiles.first < tiles.end) {
      ScoreRange<V, T, R, N / 2>(view, tiles, key_dim, query, scores);
    }
  }
}

/// Turns S of one row into e and returns the row's maximum m_p and sum l_p. Scores of positions the
/// row does not see are never used, whatever they are.
///   visible   relative to the partition; not empty
struct SoftmaxResult {
  float maximum;
  float sum;
};
template <typename V>
inline SoftmaxResult SoftmaxRow(PositionRange visible, float* scores) {
  const int64_t first = visible.begin / 16 * 16;
  const V lowest = V::Broadcast(-__builtin_inff());
  V maxima = lowest;
  for (int64_t t = first; t < visible.end; t += 16) {
    const auto seen = V::Lanes(visible.begin - t, visible.end - t);
    // NaN scores lose against every maximum (Max returns its second operand), as in the scalar
    // code.
    maxima = Max(Select(seen, V::Load(scores + t), lowest), maxima);
  }
  const float maximum = ReduceMax(maxima);
  V sums = V::Zero();
  for (int64_t t = first; t < visible.end; t += 16) {
    const auto seen = V::Lanes(visible.begin - t, visible.end - t);
    const V e = Exp(Sub(V::Load(scores + t), V::Broadcast(maximum)));
    const V visible_e = Select(seen, e, V::Zero());
    sums = Add(sums, visible_e);  // adding +0 leaves a sum >= +0 as it is
    Store(visible_e, scores + t);
  }
  return {maximum, FoldSum(sums)};
}

/// o_p += V * e for R rows that see all of block.range, N vectors of 16 value elements.
///   e        row r at e + r * kScoreStride, indexed by position in the partition
///   partial  row r at partial + r * block.padded, indexed by value element
template <typename V, typename T, int R, int N>
inline void AddValueColumns(const ValueBlock& block, const float* e, float* partial) {
  V acc[R][N];
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

/// o_p of R rows. The positions that all of them see are taken together; what only some see, at the
/// causal edge and at the far edge of the window, row by row: a V row that a query does not see
/// must not enter its chain even with weight 0, because 0 * infinity is NaN.
///   visible   of each row, relative to the partition; both ends ascend
template <typename V, typename T, int R>
inline void AddVisibleValues(ValueBlock block, const PositionRange* visible, const float* e,
                             float* partial) {
  for (int64_t i = 0; i < R * block.padded; i += 16) Store(V::Zero(), partial + i);
  constexpr int kColumns1 = VectorsFor<V, 1>();
  const PositionRange common = {visible[R - 1].begin, visible[0].end};
  for (int r = 0; r < R; ++r) {
    const int64_t stop = common.empty() ? visible[r].end : common.begin;
    block.range = {visible[r].begin, stop};
    if (block.range.empty()) continue;
    AddValues<V, T, 1, kColumns1>(block, e + r * kScoreStride, partial + r * block.padded);
  }
  if (common.empty()) return;
  block.range = common;
  AddValues<V, T, R, VectorsFor<V, R>()>(block, e, partial);
  for (int r = 0; r < R; ++r) {
    block.range = {common.end, visible[r].end};
    if (block.range.empty()) continue;
    AddValues<V, T, 1, kColumns1>(block, e + r * kScoreStride, partial + r * block.padded);
  }
}

/// Merges a partition into the running state of one row.
///   maximum, sum, out   m, l, o of the row;   partial   o_p;   padded   floats of out and partial
struct RunningRow {
  float* maximum;
  float* sum;
  float* out;
};
template <typename V>
inline void MergeRow(SoftmaxResult softmax, const float* partial, int64_t padded, RunningRow row) {
  const V m = V::Broadcast(*row.maximum);
  const V m_p = V::Broadcast(softmax.maximum);
  const V maximum = Max(m_p, m);
  const V a = Exp(Sub(m, maximum));
  const V b = Exp(Sub(m_p, maximum));
  const V l = Fma(V::Broadcast(*row.sum), a, Mul(V::Broadcast(softmax.sum), b));
  *row.maximum = First(maximum);
  *row.sum = First(l);
  for (int64_t d = 0; d < padded; d += 16) {
    Store(Fma(V::Load(row.out + d), a, Mul(V::Load(partial + d), b)), row.out + d);
  }
}

/// Rows first_row .. first_row + R - 1 of a block in the partition that starts at `partition`.
template <typename V, typename T, int R>
inline void AttendRows(const AttentionBlock& block, const PartitionView& view, int64_t partition,
                       int64_t first_row) {
  PositionRange visible[R];
  PositionRange any = {kPartitionTokens, 0};
  for (int r = 0; r < R; ++r) {
    const PositionRange cut = CutToPartition(block.Visible(first_row + r), partition);
    visible[r] = {cut.begin - partition, cut.end - partition};
    if (visible[r].empty()) continue;
    any.begin = visible[r].begin < any.begin ? visible[r].begin : any.begin;
    any.end = visible[r].end > any.end ? visible[r].end : any.end;
  }
  if (any.empty()) return;
  const AttentionScratch& layout = block.layout;
  float* scratch = block.args->scratch;
  float* scores = scratch + layout.scores;
  float* partial = scratch + layout.partial;
  const int key_dim = block.args->kv.key_dim;
  const TileRange tiles = {static_cast<int>(any.begin / kKeyTileTokens),
                           static_cast<int>((any.end - 1) / kKeyTileTokens + 1)};
  ScoreRange<V, T, R, VectorsFor<V, R>()>(view, tiles, key_dim,
                                          scratch + layout.query + first_row * key_dim, scores);
  SoftmaxResult softmax[R] = {};
  for (int r = 0; r < R; ++r) {
    if (!visible[r].empty()) softmax[r] = SoftmaxRow<V>(visible[r], scores + r * kScoreStride);
  }
  const ValueBlock values = {&view, layout.padded_values, 0, {}};
  AddVisibleValues<V, T, R>(values, visible, scores, partial);
  for (int r = 0; r < R; ++r) {
    if (visible[r].empty()) continue;
    const int64_t row = first_row + r;
    MergeRow<V>(softmax[r], partial + r * layout.padded_values, layout.padded_values,
                {scratch + layout.maximum + row, scratch + layout.sum + row,
                 scratch + layout.out + row * layout.padded_values});
  }
}

/// AttendRows with R = rows, 1 <= rows <= R.
template <typename V, typename T, int R>
inline void AttendSomeRows(const AttentionBlock& block, const PartitionView& view,
                           int64_t partition, int64_t first_row, int64_t rows) {
  if constexpr (R > 1) {
    if (rows < R) {
      return AttendSomeRows<V, T, R - 1>(block, view, partition, first_row, rows);
    }
  }
  AttendRows<V, T, R>(block, view, partition, first_row);
}

/// Rows of the next inner kernel when `remaining` rows of a block are left: they are shared out
/// evenly, so 9 rows become 5 + 4 and not 8 + 1.
template <typename V>
inline int64_t NextRows(int64_t remaining) {
  const int64_t kernels = (remaining + V::kRows - 1) / V::kRows;
  return (remaining + kernels - 1) / kernels;
}

/// Scales the queries of a block into the scratch, [key_dim][rows] for each inner kernel, and sets
/// m, l and o to their start.
template <typename V>
inline void StartBlock(const AttentionBlock& block) {
  const AttentionArgs& args = *block.args;
  const int64_t key_dim = args.kv.key_dim;
  for (int64_t first = 0; first < block.rows;) {
    const int64_t rows = NextRows<V>(block.rows - first);
    float* scaled = args.scratch + block.layout.query + first * key_dim;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t token = block.first_token + (first + r) / args.group;
      const int64_t head = (first + r) % args.group;
      const float* query = args.query + token * args.query_stride + head * key_dim;
      for (int64_t d = 0; d < key_dim; ++d) scaled[d * rows + r] = query[d] * args.scale;
    }
    first += rows;
  }
  for (int64_t row = 0; row < block.rows; ++row) {
    args.scratch[block.layout.maximum + row] = -__builtin_inff();
    args.scratch[block.layout.sum + row] = 0;
  }
  float* out = args.scratch + block.layout.out;
  for (int64_t i = 0; i < block.rows * block.layout.padded_values; i += 16) {
    Store(V::Zero(), out + i);
  }
}

/// out = o / l + 0.
template <typename V>
inline void FinishBlock(const AttentionBlock& block) {
  const AttentionArgs& args = *block.args;
  const int64_t value_dim = args.kv.value_dim;
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t token = block.first_token + row / args.group;
    const float* o = args.scratch + block.layout.out + row * block.layout.padded_values;
    const V l = V::Broadcast(args.scratch[block.layout.sum + row]);
    float* out = args.out + token * args.out_stride + row % args.group * value_dim;
    for (int64_t d = 0; d < value_dim; d += 16) {
      StorePartial(Add(Div(V::Load(o + d), l), V::Zero()), out + d, value_dim - d);
    }
  }
}

template <typename V, typename T>
inline void AttendBlock(const AttentionBlock& block) {
  StartBlock<V>(block);
  const PositionRange seen = block.Visible();
  for (int64_t p = PartitionStart(seen.begin); p < seen.end; p += kPartitionTokens) {
    PartitionView view;
    LocatePartition(block.args->kv, p, CutToPartition(seen, p), view);
    for (int64_t row = 0; row < block.rows;) {
      const int64_t rows = NextRows<V>(block.rows - row);
      AttendSomeRows<V, T, V::kRows>(block, view, p, row, rows);
      row += rows;
    }
  }
  FinishBlock<V>(block);
}

template <typename V>
inline void AttentionGeneric(const AttentionArgs& args) {
  static_assert(V::kRows <= kMicroRows);
  AttentionBlock block;
  block.args = &args;
  block.layout = LayOutScratch(args.kv.key_dim, args.kv.value_dim, args.group);
  for (int64_t token = 0; token < args.tokens; token += block.layout.block_tokens) {
    const int64_t left = args.tokens - token;
    block.first_token = token;
    block.rows = (left < block.layout.block_tokens ? left : block.layout.block_tokens) * args.group;
    if (args.kv.type == KvType::kF16) {
      AttendBlock<V, uint16_t>(block);
    } else {
      AttendBlock<V, float>(block);
    }
  }
}

/// Up to 16 floats as they are written to a cache of T (numerics 2.3): halves are clamped.
template <typename V>
inline void StoreForCache(V x, float* out) {
  Store(x, out);
}
template <typename V>
inline void StoreForCache(V x, uint16_t* out) {
  // Both pass NaN on: they return their second operand.
  const V above = Max(V::Broadcast(-65504.0f), x);
  Store(Min(V::Broadcast(65504.0f), above), out);
}

template <typename V, typename T>
inline void AppendKvOf(const PagedKv& kv, int64_t position, const float* key, const float* value) {
  T* column = reinterpret_cast<T*>(KeyTileOf(kv, position)) + position % kKeyTileTokens;
  for (int64_t d = 0; d < kv.key_dim; d += 16) {
    alignas(64) T converted[16];
    StoreForCache(V::LoadPartial(key + d, kv.key_dim - d), converted);
    for (int64_t i = 0; i < 16 && d + i < kv.key_dim; ++i) {
      column[(d + i) * kKeyTileTokens] = converted[i];
    }
  }
  T* row = reinterpret_cast<T*>(ValueRowOf(kv, position));
  for (int64_t d = 0; d < kv.value_dim; d += 16) {
    StoreForCache(V::LoadPartial(value + d, kv.value_dim - d), row + d);  // zeros behind the end
  }
}

template <typename V>
inline void AppendKvGeneric(const PagedKv& kv, int64_t position, const float* key,
                            const float* value) {
  if (kv.type == KvType::kF16) {
    AppendKvOf<V, uint16_t>(kv, position, key, value);
  } else {
    AppendKvOf<V, float>(kv, position, key, value);
  }
}

}  // namespace skald::kernels
