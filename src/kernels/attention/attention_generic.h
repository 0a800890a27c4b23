/// Attention over a vector type. Include inside a target region (isa/vec_avx512.h says how).
///
/// A block of rows (tokens x query heads of the group) walks over the partitions. In each, the rows
/// go through four steps, a group of kGroupRows at a time: scores (lanes are tokens), softmax,
/// values (lanes are value elements), merge. K and V are
///
/// * for one group (decode) read where they lie, and widened on the way;
/// * for several (prefill) widened into the scratch first, where they stay in L2 while all groups
///   use them: widening costs the FMA units a slot per vector, so it must be shared.
///
/// Values that lie in keys stand across: they are turned into rows in the scratch, whatever the
/// rows. With 16 rows that is an eighth of the arithmetic, with 128 nothing.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/attention/softmax_generic.h"
#include "kernels/attention/tiles_generic.h"
#include "kernels/isa/bfloat16.h"

namespace skald::kernels {

/// Rows of the next inner kernel when `remaining` rows are left and a kernel takes kRows: they are
/// shared out evenly, so 9 rows become 5 + 4 and not 8 + 1.
template <int kRows>
constexpr int NextRows(int remaining) {
  const int kernels = (remaining + kRows - 1) / kRows;
  return (remaining + kernels - 1) / kernels;
}

/// step.Run<rows>(row), 1 <= rows <= R.
template <int R, typename Step>
inline void RunSomeRows(const Step& step, int row, int rows) {
  if constexpr (R > 1) {
    if (rows < R) return RunSomeRows<R - 1>(step, row, rows);
  }
  step.template Run<R>(row);
}

/// step.Run for all of `count` rows, R or fewer at a time.
template <int R, typename Step>
inline void RunAllRows(const Step& step, int count) {
  for (int row = 0; row < count;) {
    const int rows = NextRows<R>(count - row);
    RunSomeRows<R>(step, row, rows);
    row += rows;
  }
}

/// The scores of R rows at the positions `stripe`, rounded out to pages in front and to tiles
/// behind. T: what the view holds.
template <typename V, typename T, Source kSource>
struct ScoreStep {
  const PartitionRows& rows;
  PositionRange stripe;

  template <int R>
  void Run(int row) const {
    const PositionRange seen = Intersect(rows.Any(row, R), stripe);
    if (seen.empty()) return;
    const AttentionScratch& layout = rows.block->layout;
    const TileRange tiles = {static_cast<int>(seen.begin / kPageTokens * kPageTiles),
                             static_cast<int>((seen.end - 1) / kKeyTileTokens + 1)};
    const QueryRows query = {rows.block->args->scratch + layout.query + rows.first_row + row,
                             layout.query_stride, rows.block->args->kv.key_dim};
    ScoreRange<V, T, kSource, R, VectorsFor<V, R>()>(*rows.view, tiles, query, rows.Scores(row));
  }
};

/// o_p of R rows. The positions of the stripe that all of them see are taken together; what only
/// some see, at the causal edge and at the edges of the window, row by row: a V row that a query
/// does not see must not enter its chain even with weight 0, because 0 * infinity is NaN.
template <typename V, typename T, Source kSource>
struct ValueStep {
  const PartitionRows& rows;
  PositionRange stripe;

  template <int R>
  void Run(int row) const {
    const PositionRange any = Intersect(rows.Any(row, R), stripe);
    const PositionRange common = Intersect(rows.Common(row, R), stripe);
    if (any.begin == common.begin && any.end == common.end) return Add<R>(row, common);
    if (common.empty()) {
      for (int r = row; r < row + R; ++r) Add<1>(r, Intersect(rows.visible[r], stripe));
      return;
    }
    for (int r = row; r < row + R; ++r) {
      Add<1>(r, Intersect(rows.visible[r], {stripe.begin, common.begin}));
    }
    Add<R>(row, common);
    for (int r = row; r < row + R; ++r) {
      Add<1>(r, Intersect(rows.visible[r], {common.end, stripe.end}));
    }
  }

  template <int R>
  void Add(int row, PositionRange range) const {
    if (range.empty()) return;
    const ValueBlock values = {rows.view, rows.block->layout.padded_values, 0, range};
    AddValues<V, T, kSource, R, VectorsFor<V, R>()>(values, rows.Scores(row), rows.Partial(row));
  }
};

/// Positions that all rows of a group take before the next: their K or V stays in L1 meanwhile, and
/// the widest kernel has its 8 tiles.
inline constexpr int64_t kStripeTokens = 8 * kKeyTileTokens;

/// The four steps for one group of rows, whose first row and count are set.
template <typename V, typename T, Source kSource>
inline void AttendRows(PartitionRows& rows, int64_t partition) {
  const AttentionBlock& block = *rows.block;
  for (int r = 0; r < rows.count; ++r) {
    const PositionRange cut = CutToPartition(block.Visible(rows.first_row + r), partition);
    rows.visible[r] = {cut.begin - partition, cut.end - partition};
  }
  float* partial = rows.Partial(0);
  const int64_t partial_size = int64_t{rows.count} * block.layout.padded_values;
  for (int64_t i = 0; i < partial_size; i += 16) Store(V::Zero(), partial + i);
  const PositionRange any = rows.Any(0, rows.count);
  const int64_t begin = any.begin / kStripeTokens * kStripeTokens;
  for (int64_t t = begin; t < any.end; t += kStripeTokens) {
    RunAllRows<V::kRows>(ScoreStep<V, T, kSource>{rows, {t, t + kStripeTokens}}, rows.count);
  }
  SoftmaxRows<V>(rows, partition);
  constexpr int kValueRows = kSource == Source::kCache ? V::kRows : V::kRows / 2;
  for (int64_t t = begin; t < any.end; t += kStripeTokens) {
    RunAllRows<kValueRows>(ValueStep<V, T, kSource>{rows, {t, t + kStripeTokens}}, rows.count);
  }
  MergeRows<V>(rows);
}

/// Transposes x, 16 vectors of 16.
template <typename V>
inline void Transpose(V* x) {
  // The 8 bits of an element's index, vector then lane, rotate left by one in each round: vectors
  // i and i + 8 become the pairs of vectors 2 i and 2 i + 1.
  for (int round = 0; round < 4; ++round) {
    V y[16];
    for (int i = 0; i < 8; ++i) Interleave(x[i], x[i + 8], y[2 * i], y[2 * i + 1]);
    for (int i = 0; i < 16; ++i) x[i] = y[i];
  }
}

/// `count` elements of the cache as floats: where they lie, or widened in `scratch`.
template <typename V>
inline const std::byte* Widen(const float* elements, int64_t, float*) {
  return reinterpret_cast<const std::byte*>(elements);
}
template <typename V, typename T>
inline const std::byte* Widen(const T* elements, int64_t count, float* scratch) {
  for (int64_t i = 0; i < count; i += 16) Store(V::Load(elements + i), scratch + i);
  return reinterpret_cast<const std::byte*>(scratch);
}

/// The values of a tile of keys, which holds them, as the rows that values of their own have. In
/// columns past the values stand further elements of the keys, or zeros: padding.
template <typename V>
inline void ValuesOfKeys(const float* tile, int64_t key_dim, int64_t padded, float* values) {
  for (int64_t d = 0; d < padded; d += 16) {
    V x[16];
    for (int64_t i = 0; i < 16; ++i) {
      x[i] = d + i < key_dim ? V::Load(tile + (d + i) * kKeyTileTokens) : V::Zero();
    }
    Transpose(x);
    for (int64_t token = 0; token < 16; ++token) Store(x[token], values + token * padded + d);
  }
}

/// Widens the pages of `view` that hold a position of `range`, relative to the partition, and
/// replaces them by where their floats lie.
template <typename V, typename T>
inline void WidenPartition(const AttentionBlock& block, PositionRange range, PartitionView& view) {
  const int64_t key_page = int64_t{kPageTokens} * block.args->kv.key_dim;
  const int64_t value_page = int64_t{kPageTokens} * block.layout.padded_values;
  float* keys = block.args->scratch + block.layout.keys;
  float* values = block.args->scratch + block.layout.values;
  for (int64_t page = range.begin / kPageTokens; page * kPageTokens < range.end; ++page) {
    const std::byte** tiles = view.key_tiles + kPageTiles * page;
    tiles[0] = Widen<V>(reinterpret_cast<const T*>(tiles[0]), key_page, keys + page * key_page);
    tiles[1] = tiles[0] + sizeof(float) * key_page / kPageTiles;
    float* rows = values + page * value_page;
    if (block.args->kv.values == ValuePlace::kOwn) {
      view.value_pages[page] =
          Widen<V>(reinterpret_cast<const T*>(view.value_pages[page]), value_page, rows);
      continue;
    }
    for (int tile = 0; tile < kPageTiles; ++tile) {
      ValuesOfKeys<V>(reinterpret_cast<const float*>(tiles[tile]), block.args->kv.key_dim,
                      block.layout.padded_values,
                      rows + tile * kKeyTileTokens * block.layout.padded_values);
    }
    view.value_pages[page] = reinterpret_cast<const std::byte*>(rows);
  }
}

/// The rows `row` to `end` - 1 of a block, all of which see something of the partition that starts
/// at `partition`.
template <typename V, typename T>
inline void AttendPartition(const AttentionBlock& block, int64_t partition, int64_t row,
                            int64_t end) {
  const PositionRange seen =
      CutToPartition({block.Visible(row).begin, block.Visible(end - 1).end}, partition);
  PartitionView view;
  LocatePartition(block.args->kv, partition, seen, block.Visible().end, view);
  PartitionRows rows;
  rows.block = &block;
  rows.view = &view;
  rows.first_row = row;
  if (end - row <= kGroupRows && block.args->kv.values == ValuePlace::kOwn) {
    rows.count = static_cast<int>(end - row);
    return AttendRows<V, T, Source::kCache>(rows, partition);
  }
  WidenPartition<V, T>(block, {seen.begin - partition, seen.end - partition}, view);
  for (; rows.first_row < end; rows.first_row += kGroupRows) {
    rows.count = static_cast<int>(std::min<int64_t>(end - rows.first_row, kGroupRows));
    AttendRows<V, float, Source::kScratch>(rows, partition);
  }
}

/// V::LoadPartial, fast where n >= 16.
template <typename V>
inline V LoadUpTo16(const float* p, int64_t n) {
  return n >= 16 ? V::Load(p) : V::LoadPartial(p, n);
}

/// Writes the queries of the block, scaled and transposed, to the scratch: 16 rows x 16 elements at
/// a time.
template <typename V>
inline void ScaleQueries(const AttentionBlock& block) {
  const AttentionArgs& args = *block.args;
  const int64_t key_dim = args.kv.key_dim;
  const V scale = V::Broadcast(args.scale);
  for (int64_t row = 0; row < block.rows; row += 16) {
    const float* query[16] = {};
    for (int64_t r = 0; r < 16 && row + r < block.rows; ++r) {
      const int64_t token = block.first_token + (row + r) / args.group;
      query[r] = args.query + token * args.query_stride + (row + r) % args.group * key_dim;
    }
    float* out = args.scratch + block.layout.query + row;
    for (int64_t d = 0; d < key_dim; d += 16) {
      V x[16] = {};
      for (int r = 0; r < 16; ++r) {
        if (query[r] == nullptr) break;
        x[r] = Mul(LoadUpTo16<V>(query[r] + d, key_dim - d), scale);
      }
      Transpose(x);
      for (int i = 0; i < 16; ++i, out += block.layout.query_stride) Store(x[i], out);
    }
  }
}

/// Prepares the queries of a block and sets m, l and o to their start.
template <typename V>
inline void StartBlock(const AttentionBlock& block) {
  ScaleQueries<V>(block);
  float* scratch = block.args->scratch;
  for (int64_t row = 0; row < block.rows; ++row) {
    const float* sinks = block.args->sinks;
    const bool sinks_too = sinks != nullptr;
    scratch[block.layout.maximum + row] =
        sinks_too ? sinks[row % block.args->group] : -__builtin_inff();
    scratch[block.layout.sum + row] = sinks_too ? 1 : 0;
  }
  float* out = scratch + block.layout.out;
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
    int64_t row = 0;
    int64_t end = block.rows;
    while (CutToPartition(block.Visible(row), p).empty()) ++row;      // end before it
    while (CutToPartition(block.Visible(end - 1), p).empty()) --end;  // begin behind it
    AttendPartition<V, T>(block, p, row, end);
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
    switch (args.kv.type) {
      case KvType::kF16: AttendBlock<V, uint16_t>(block); break;
      case KvType::kBF16: AttendBlock<V, BFloat16>(block); break;
      case KvType::kF32: AttendBlock<V, float>(block); break;
    }
  }
}

}  // namespace skald::kernels
