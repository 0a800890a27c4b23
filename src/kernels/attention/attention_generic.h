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
/// Quantized keys are read where they lie in both cases: their integers are what the dot
/// instruction takes. Quantized values are integers of 16 bits in place of floats.
///
/// Values that lie in keys stand across: they are turned into rows in the scratch, whatever the
/// rows. With 16 rows that is an eighth of the arithmetic, with 128 nothing.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/attention/attention_rows_generic.h"
#include "kernels/attention/integer_tiles_generic.h"
#include "kernels/attention/quantize_head_generic.h"
#include "kernels/isa/bfloat16.h"

namespace skald::kernels {

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

/// `count` elements of `type` as the scratch has them: floats, or integers of 16 bits.
template <typename V>
inline const std::byte* WidenAs(KvType type, const std::byte* elements, int64_t count,
                                float* scratch) {
  switch (type) {
    case KvType::kF16: return Widen<V>(reinterpret_cast<const uint16_t*>(elements), count, scratch);
    case KvType::kBF16:
      return Widen<V>(reinterpret_cast<const BFloat16*>(elements), count, scratch);
    case KvType::kF32: break;
    case KvType::kQ8: return WidenPairs<V, BytePairs<V>>(elements, count, scratch);
    case KvType::kQ4: return WidenPairs<V, NibblePairs<V>>(elements, count, scratch);
  }
  return elements;
}

/// Widens the pages of `view` that hold a position of `range`, relative to the partition, and
/// replaces them by where their floats lie; quantized values have 16 bits there, quantized keys
/// stay.
template <typename V>
inline void WidenPartition(const AttentionBlock& block, PositionRange range, PartitionView& view) {
  const PagedKv& kv = block.args->kv;
  const int64_t key_page = int64_t{kPageTokens} * kv.key_dim;
  const int64_t value_page = int64_t{kPageTokens} * block.layout.padded_values;
  float* keys = block.args->scratch + block.layout.keys;
  float* values = block.args->scratch + block.layout.values;
  for (int64_t page = range.begin / kPageTokens; page * kPageTokens < range.end; ++page) {
    const std::byte** tiles = view.key_tiles + kPageTiles * page;
    if (!block.QuantizedKeys()) {
      tiles[0] = WidenAs<V>(kv.types.keys, tiles[0], key_page, keys + page * key_page);
      tiles[1] = tiles[0] + sizeof(float) * key_page / kPageTiles;
    }
    float* rows = values + page * value_page;
    if (kv.values == ValuePlace::kOwn) {
      view.value_pages[page] =
          WidenAs<V>(kv.types.values, view.value_pages[page], value_page, rows);
      continue;
    }
    for (int tile = 0; tile < kPageTiles; ++tile) {
      ValuesOfKeys<V>(reinterpret_cast<const float*>(tiles[tile]), kv.key_dim,
                      block.layout.padded_values,
                      rows + tile * kKeyTileTokens * block.layout.padded_values);
    }
    view.value_pages[page] = reinterpret_cast<const std::byte*>(rows);
  }
}

/// The rows `row` to `end` - 1 of a block, all of which see something of the partition that starts
/// at `partition`.
template <typename V>
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
    return AttendRows<V, Source::kCache>(rows, partition);
  }
  WidenPartition<V>(block, {seen.begin - partition, seen.end - partition}, view);
  for (; rows.first_row < end; rows.first_row += kGroupRows) {
    rows.count = static_cast<int>(std::min<int64_t>(end - rows.first_row, kGroupRows));
    AttendRows<V, Source::kScratch>(rows, partition);
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
    for (int64_t r = 0; r < 16 && row + r < block.rows; ++r) query[r] = block.Query(row + r);
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

/// Writes the queries of the block to the scratch scaled, rotated and quantized (numerics 3.20).
template <typename V>
inline void QuantizeQueries(const AttentionBlock& block) {
  const AttentionArgs& args = *block.args;
  const int64_t key_dim = args.kv.key_dim;
  const V scale = V::Broadcast(args.scale);
  auto* words = reinterpret_cast<int32_t*>(args.scratch + block.layout.query);
  auto* offsets = reinterpret_cast<int32_t*>(args.scratch + block.layout.query_offset);
  QuantizedHead head;
  for (int64_t row = 0; row < block.rows; ++row) {
    const float* query = block.Query(row);
    for (int64_t d = 0; d < key_dim; d += 16) {
      Store(Mul(LoadUpTo16<V>(query + d, key_dim - d), scale), head.x + d);
    }
    Rotate<V>(head.x, key_dim);
    const RowScale of_query = RowScaleOf(RangeOf<V>(head.x, key_dim), kLargestOfQuery);
    RoundToBytes<V>(head.x, key_dim, of_query.inverse, kLargestOfQuery, head.q);
    args.scratch[block.layout.query_scale + row] = of_query.scale;
    offsets[row] = WriteQueryIntegers(args.kv, head.q, words + row, block.layout.query_stride);
  }
}

template <typename V>
inline void PrepareQueries(const AttentionBlock& block) {
  if (block.QuantizedKeys()) {
    QuantizeQueries<V>(block);
  } else {
    ScaleQueries<V>(block);
  }
}

/// Sets m, l and o of a block to their start.
template <typename V>
inline void StartBlock(const AttentionBlock& block) {
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

/// out = o / l + 0; of quantized values, which are rotated, o / l is rotated back first.
template <typename V>
inline void FinishBlock(const AttentionBlock& block) {
  const AttentionArgs& args = *block.args;
  const int64_t value_dim = args.kv.value_dim;
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t token = block.first_token + row / args.group;
    float* o = args.scratch + block.layout.out + row * block.layout.padded_values;
    const V l = V::Broadcast(args.scratch[block.layout.sum + row]);
    for (int64_t d = 0; d < value_dim; d += 16) Store(Div(V::Load(o + d), l), o + d);
    if (block.QuantizedValues()) Rotate<V>(o, value_dim);
    float* out = args.out + token * args.out_stride + row % args.group * value_dim;
    for (int64_t d = 0; d < value_dim; d += 16) {
      StorePartial(Add(V::Load(o + d), V::Zero()), out + d, value_dim - d);
    }
  }
}

/// The pinned positions, with their own queries.
template <typename V>
inline void AttendPinned(AttentionBlock block) {
  block.on_pinned = true;
  PrepareQueries<V>(block);
  AttendPartition<V>(block, 0, 0, block.rows);
}

template <typename V>
inline void AttendBlock(const AttentionBlock& block) {
  StartBlock<V>(block);
  if (block.args->pinned > 0) AttendPinned<V>(block);
  PrepareQueries<V>(block);
  const PositionRange seen = block.Visible();
  for (int64_t p = PartitionStart(seen.begin); p < seen.end; p += kPartitionTokens) {
    int64_t row = 0;
    int64_t end = block.rows;
    while (CutToPartition(block.Visible(row), p).empty()) ++row;      // end before it
    while (CutToPartition(block.Visible(end - 1), p).empty()) --end;  // begin behind it
    AttendPartition<V>(block, p, row, end);
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
    AttendBlock<V>(block);
  }
}

}  // namespace skald::kernels
