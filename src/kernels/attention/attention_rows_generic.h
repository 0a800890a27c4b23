/// What attention does with one group of rows in one partition, over a vector type: its four steps,
/// by the types of K and V. Include inside a target region (isa/vec_avx512.h says how).
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/attention/integer_tiles_generic.h"
#include "kernels/attention/softmax_generic.h"
#include "kernels/attention/tiles_generic.h"
#include "kernels/isa/bfloat16.h"

namespace skald::kernels {

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
  static constexpr int kRows = V::kRows;
  const PartitionRows& rows;
  PositionRange stripe;

  template <int R>
  void Run(int row) const {
    const PositionRange seen = Intersect(rows.Any(row, R), stripe);
    if (seen.empty()) return;
    const AttentionScratch& layout = rows.block->layout;
    const TileRange tiles = TilesOf(seen);
    const QueryRows query = {rows.block->args->scratch + layout.query + rows.first_row + row,
                             layout.query_stride, rows.block->args->kv.key_dim};
    ScoreRange<V, T, kSource, R, VectorsFor<V, R>()>(*rows.view, tiles, query, rows.Scores(row));
  }
};

/// ScoreStep of quantized keys. Keys: DotOf<V>::Keys8 or Keys4.
template <typename V, typename Keys, Source kSource>
struct IntegerScoreStep {
  static constexpr int kRows = DotOf<V>::kRows;
  const PartitionRows& rows;
  PositionRange stripe;

  template <int R>
  void Run(int row) const {
    const PositionRange seen = Intersect(rows.Any(row, R), stripe);
    if (seen.empty()) return;
    const AttentionArgs& args = *rows.block->args;
    const AttentionScratch& layout = rows.block->layout;
    const int64_t index = rows.first_row + row;
    const auto* words = reinterpret_cast<const int32_t*>(args.scratch + layout.query);
    const auto* offsets = reinterpret_cast<const int32_t*>(args.scratch + layout.query_offset);
    const IntegerRows query = {words + index, offsets + index,
                               args.scratch + layout.query_scale + index, layout.query_stride,
                               KeyTileBytes(args.kv.types.keys, args.kv.key_dim) / 64};
    ScoreIntegerRange<V, Keys, kSource, R, TilesFor<V, R>()>(*rows.view, TilesOf(seen), query,
                                                             rows.Scores(row));
  }
};

/// o_p of R rows. The positions of the stripe that all of them see are taken together; what only
/// some see, at the causal edge and at the edges of the window, row by row: a V row that a query
/// does not see must not enter its chain even with weight 0, because 0 * infinity is NaN.
template <typename V, typename T, Source kSource>
struct ValueStep {
  static constexpr int kRows = kSource == Source::kCache ? V::kRows : V::kRows / 2;
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

/// ValueStep of quantized values: nothing is infinite, so rows may take what only some see.
template <typename V, typename Elements, Source kSource>
struct IntegerValueStep {
  static constexpr int kRows = DotOf<V>::kRows / 2;
  const PartitionRows& rows;
  PositionRange stripe;

  template <int R>
  void Run(int row) const {
    const PositionRange seen = Intersect(rows.Any(row, R), stripe);
    if (seen.empty()) return;
    const PositionRange pairs = {seen.begin / 2 * 2, (seen.end + 1) / 2 * 2};
    const ValueBlock values = {rows.view, rows.block->layout.padded_values, 0, pairs};
    AddIntegers<V, Elements, kSource, R, TilesFor<V, R>()>(values, rows.Weights(row),
                                                           rows.Partial(row));
  }
};

/// Positions that all rows of a group take before the next: their K or V stays in L1 meanwhile, and
/// the widest kernel has its 8 tiles.
inline constexpr int64_t kStripeTokens = 8 * kKeyTileTokens;

/// Step for all rows of a group, stripe by stripe.
template <typename Step>
inline void RunStripes(const PartitionRows& rows) {
  const PositionRange any = rows.Any(0, rows.count);
  const int64_t begin = any.begin / kStripeTokens * kStripeTokens;
  for (int64_t t = begin; t < any.end; t += kStripeTokens) {
    RunAllRows<Step::kRows>(Step{rows, {t, t + kStripeTokens}}, rows.count);
  }
}

/// Step with the type of what is not quantized. kScratch: floats stand there, whatever the type.
template <template <typename, typename, Source> class Step, typename V, Source kSource>
inline void RunFloatStripes(const PartitionRows& rows, KvType type) {
  if constexpr (kSource == Source::kScratch) {
    RunStripes<Step<V, float, kSource>>(rows);
  } else if (type == KvType::kF16) {
    RunStripes<Step<V, uint16_t, kSource>>(rows);
  } else if (type == KvType::kBF16) {
    RunStripes<Step<V, BFloat16, kSource>>(rows);
  } else {
    RunStripes<Step<V, float, kSource>>(rows);
  }
}

/// S of a group. kScratch: keys that are not quantized are floats there.
template <typename V, Source kSource>
inline void ScoreRows(const PartitionRows& rows) {
  const KvType type = rows.block->args->kv.types.keys;
  if (type == KvType::kQ8) {
    return RunStripes<IntegerScoreStep<V, typename DotOf<V>::Keys8, kSource>>(rows);
  }
  if (type == KvType::kQ4) {
    return RunStripes<IntegerScoreStep<V, typename DotOf<V>::Keys4, kSource>>(rows);
  }
  RunFloatStripes<ScoreStep, V, kSource>(rows, type);
}

/// o_p of a group, whose sums are zero. kScratch: values are floats there.
template <typename V, Source kSource>
inline void AddRows(const PartitionRows& rows) {
  RunFloatStripes<ValueStep, V, kSource>(rows, rows.block->args->kv.types.values);
}

/// AddRows of quantized values. kScratch: they have 16 bits there.
template <typename V, Source kSource>
inline void AddIntegerRows(const PartitionRows& rows) {
  QuantizeWeights<V>(rows);
  if constexpr (kSource == Source::kScratch) {
    RunStripes<IntegerValueStep<V, WordPairs<V>, kSource>>(rows);
  } else if (rows.block->args->kv.types.values == KvType::kQ8) {
    RunStripes<IntegerValueStep<V, BytePairs<V>, kSource>>(rows);
  } else {
    RunStripes<IntegerValueStep<V, NibblePairs<V>, kSource>>(rows);
  }
  ScalePartials<V>(rows);
}

/// The four steps for one group of rows, whose first row and count are set.
template <typename V, Source kSource>
inline void AttendRows(PartitionRows& rows, int64_t partition) {
  const AttentionBlock& block = *rows.block;
  for (int r = 0; r < rows.count; ++r) {
    const PositionRange cut = CutToPartition(block.Visible(rows.first_row + r), partition);
    rows.visible[r] = {cut.begin - partition, cut.end - partition};
  }
  float* partial = rows.Partial(0);
  const int64_t partial_size = int64_t{rows.count} * block.layout.padded_values;
  for (int64_t i = 0; i < partial_size; i += 16) Store(V::Zero(), partial + i);
  ScoreRows<V, kSource>(rows);
  SoftmaxRows<V>(rows, partition);
  if (block.QuantizedValues()) {
    AddIntegerRows<V, kSource>(rows);
  } else {
    AddRows<V, kSource>(rows);
  }
  MergeRows<V>(rows);
}

}  // namespace skald::kernels
