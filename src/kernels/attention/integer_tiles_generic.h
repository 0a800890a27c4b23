/// The two products of attention over quantized keys and values, over a vector type, for a few
/// rows (numerics 3.20). Include inside a target region (isa/vec_avx512.h says how). The shape is
/// that of tiles_generic.h; sums are integers, so their order is free.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/attention/kv_scale.h"
#include "kernels/attention/quantize_head_generic.h"
#include "kernels/attention/tiles_generic.h"
#include "kernels/isa/dot.h"

namespace skald::kernels {

/// Tiles that a kernel of R rows handles at a time, as VectorsFor.
template <typename V, int R>
constexpr int TilesFor() {
  constexpr int kAccumulators = DotOf<V>::kAccumulators;
  if (R < 4 && 8 * R <= kAccumulators) return 8;
  if (4 * R <= kAccumulators) return 4;
  return 2 * R <= kAccumulators ? 2 : 1;
}

/// Quantized queries of consecutive rows: word g of row r at words[g * stride + r].
struct IntegerRows {
  const int32_t* words;
  const int32_t* offsets;  ///< of each row: what its sums start from
  const float* scales;     ///< of each row
  int64_t stride;
  int64_t lines;  ///< of a key tile, 64 bytes each
};

/// S of R rows against N tiles of 16 tokens, as ScoreTiles. Keys: DotOf<V>::Keys8 or Keys4.
template <typename V, typename Keys, Source kSource, int R, int N>
inline void ScoreIntegerTiles(const PartitionView& view, int first, IntegerRows query,
                              float* scores) {
  using Dot = DotOf<V>;
  constexpr int kBytes = (N == 1 ? 1 : kPageTiles) * 64;
  const std::byte* tile[N];
  for (int j = 0; j < N; ++j) tile[j] = view.key_tiles[first + j];
  // Row r, tile j at r * N + j.
  auto acc = Accumulators<typename Dot::Sum>(
      [&](int i) { return Dot::template Start<Keys>(query.offsets[i / N]); },
      std::make_integer_sequence<int, R * N>());
  const int32_t* words = query.words;
  for (int64_t line = 0; line < query.lines; ++line, words += Keys::kWords * query.stride) {
    Keys k[N];
    for (int j = 0; j < N; ++j) k[j] = Keys::Load(tile[j] + 64 * line);
    if constexpr (kSource == Source::kCache) {
      for (int j = 0; j < N; j += kPageTiles) {
        const int64_t part = first % kPageTiles * query.lines + line;  // an odd tile comes alone
        AskFor<V, kBytes>(view.after_keys[(first + j) / kPageTiles] + part * kBytes);
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int j = 0; j < N; ++j) {
        acc[r * N + j] = Dot::Add(acc[r * N + j], k[j], words + r, query.stride);
      }
    }
  }
  for (int j = 0; j < N; ++j) {
    const int tile_index = first + j;
    const V scale = V::Load(view.key_scales[tile_index / kPageTiles] +
                            tile_index % kPageTiles * kKeyTileTokens);
    for (int r = 0; r < R; ++r) {
      const V sum = Mul(Dot::ToFloat(acc[r * N + j]), V::Broadcast(query.scales[r]));
      Store(Mul(sum, scale), scores + r * kScoreStride + 16 * j);
    }
  }
}

/// ScoreIntegerTiles for a range of tiles, as ScoreRange.
template <typename V, typename Keys, Source kSource, int R, int N>
inline void ScoreIntegerRange(const PartitionView& view, TileRange tiles, IntegerRows query,
                              float* scores) {
  for (; tiles.first + N <= tiles.end; tiles.first += N) {
    ScoreIntegerTiles<V, Keys, kSource, R, N>(view, tiles.first, query,
                                              scores + kKeyTileTokens * tiles.first);
  }
  if constexpr (N > 1) {
    if (tiles.first < tiles.end) {
      ScoreIntegerRange<V, Keys, kSource, R, N / 2>(view, tiles, query, scores);
    }
  }
}

/// The range of w = e * scale of the positions that a row sees, which replace e. Where the row sees
/// none, up to whole vectors, w becomes 0.
template <typename V>
inline HeadRange ScaleWeights(const PartitionRows& rows, int row) {
  float* e = rows.Scores(row);
  const PositionRange visible = rows.visible[row];
  const int64_t begin = visible.begin / 16 * 16;
  for (int64_t t = begin; t < visible.end; t += 16) {
    const V scale = V::Load(rows.view->value_scales[t / kPageTokens] + t % kPageTokens);
    V w = Mul(V::Load(e + t), scale);
    if (t < visible.begin || t + 16 > visible.end) {
      w = Select(V::Lanes(visible.begin - t, visible.end - t), w, V::Zero());
    }
    Store(w, e + t);
  }
  return RangeOf<V>(e + begin, visible.end - begin);
}

/// e of every row as integers and a scale (numerics 3.20): what quantized values are weighted with.
/// Positions that another row of the group sees have the weight 0.
template <typename V>
inline void QuantizeWeights(const PartitionRows& rows) {
  const PositionRange any = rows.Any(0, rows.count);
  float* scales = rows.block->args->scratch + rows.block->layout.weight_scale;
  for (int r = 0; r < rows.count; ++r) {
    const RowScale scale = RowScaleOf(ScaleWeights<V>(rows, r), kLargestWeight);
    scales[r] = scale.scale;
    const PositionRange visible = rows.visible[r];
    const V factor = V::Broadcast(scale.inverse);
    for (int64_t t = any.begin / 16 * 16; t < any.end; t += 16) {
      const bool seen = t + 16 > visible.begin && t < visible.end && scale.inverse != 0;
      StoreWords(seen ? Mul(V::Load(rows.Scores(r) + t), factor) : V::Zero(), rows.Weights(r) + t);
    }
  }
}

/// Pairs of values as they lie in pages, and as the scratch has them.
template <typename V>
struct BytePairs {
  static constexpr int64_t kBytes = 2;  ///< of an element of both positions
  using Pairs = typename DotOf<V>::Pairs;
  static Pairs Load(const std::byte* p) { return Pairs::LoadBytes(p); }
};
template <typename V>
struct NibblePairs {
  static constexpr int64_t kBytes = 1;
  using Pairs = typename DotOf<V>::Pairs;
  static Pairs Load(const std::byte* p) { return Pairs::LoadNibbles(p); }
};
template <typename V>
struct WordPairs {
  static constexpr int64_t kBytes = 4;
  using Pairs = typename DotOf<V>::Pairs;
  static Pairs Load(const std::byte* p) { return Pairs::LoadWords(p); }
};

/// o_p += V * weights for R rows, N vectors of 16 value elements, in integers. Both ends of
/// block.range are even.
///   weights  row r at weights + r * kWeightStride, indexed by position in the partition
///   partial  row r at partial + r * block.padded, indexed by value element: int32
template <typename V, typename Elements, Source kSource, int R, int N>
inline void AddIntegerColumns(const ValueBlock& block, const int16_t* weights, float* partial) {
  using Dot = DotOf<V>;
  constexpr int kBytes = static_cast<int>(Elements::kBytes) * N * 16;
  float* sums = partial + block.column;
  // Row r, vector j at r * N + j.
  auto acc = Accumulators<typename Dot::Sum>(
      [&](int i) { return Dot::LoadSum(sums + i / N * block.padded + 16 * (i % N)); },
      std::make_integer_sequence<int, R * N>());
  const int64_t pair_bytes = block.padded * Elements::kBytes;
  for (int64_t t = block.range.begin; t < block.range.end;) {
    const int64_t page = t / kPageTokens;
    const int64_t page_end = (page + 1) * kPageTokens;
    const int64_t stop = page_end < block.range.end ? page_end : block.range.end;
    const int64_t offset = t % kPageTokens / 2 * pair_bytes + block.column * Elements::kBytes;
    const std::byte* pair = block.view->value_pages[page] + offset;
    const std::byte* after = block.view->after_values[page] + offset;
    for (; t < stop; t += 2, pair += pair_bytes) {
      typename Dot::Pairs v[N];
      for (int j = 0; j < N; ++j) v[j] = Elements::Load(pair + 16 * j * Elements::kBytes);
      if constexpr (kSource == Source::kCache) {
        AskFor<V, kBytes>(after);
        after += pair_bytes;
      }
      for (int r = 0; r < R; ++r) {
        const auto both = static_cast<int32_t>(LoadWord(weights + r * kWeightStride + t));
        for (int j = 0; j < N; ++j) acc[r * N + j] = Dot::Add(acc[r * N + j], v[j], both);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int j = 0; j < N; ++j) {
      Dot::StoreSum(acc[r * N + j], sums + r * block.padded + 16 * j);
    }
  }
}

/// AddIntegerColumns for all columns from block.column on, as AddValues.
template <typename V, typename Elements, Source kSource, int R, int N>
inline void AddIntegers(ValueBlock block, const int16_t* weights, float* partial) {
  for (; block.column + 16 * N <= block.padded; block.column += 16 * N) {
    AddIntegerColumns<V, Elements, kSource, R, N>(block, weights, partial);
  }
  if constexpr (N > 1) {
    if (block.column < block.padded) {
      AddIntegers<V, Elements, kSource, R, N / 2>(block, weights, partial);
    }
  }
}

/// o_p of every row, out of its integers.
template <typename V>
inline void ScalePartials(const PartitionRows& rows) {
  const AttentionScratch& layout = rows.block->layout;
  for (int r = 0; r < rows.count; ++r) {
    const V scale = V::Broadcast(rows.block->args->scratch[layout.weight_scale + r]);
    float* partial = rows.Partial(r);
    for (int64_t d = 0; d < layout.padded_values; d += 16) {
      Store(Mul(DotOf<V>::ToFloat(DotOf<V>::LoadSum(partial + d)), scale), partial + d);
    }
  }
}

/// Widens `count` values, of whole pairs, to 16 bits in `scratch`.
template <typename V, typename Elements>
inline const std::byte* WidenPairs(const std::byte* elements, int64_t count, float* scratch) {
  for (int64_t i = 0; i < count; i += 32) {
    Elements::Load(elements + i / 2 * Elements::kBytes).StoreWords(scratch + i / 2);
  }
  return reinterpret_cast<const std::byte*>(scratch);
}

}  // namespace skald::kernels
