/// What the variants of attention share: which positions a row sees, where an element of the cache
/// lies, and how the scratch is divided.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention.h"
#include "kernels/isa/bfloat16.h"

namespace skald::kernels {

/// K tiles of a page.
inline constexpr int kPageTiles = kPageTokens / kKeyTileTokens;

/// The positions begin .. end - 1.
struct PositionRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool empty() const { return begin >= end; }
};

/// The positions that the token at `position` sees (numerics 3.7).
inline PositionRange VisibleRange(int64_t position, const AttentionArgs& args) {
  const int64_t in_window = args.window == 0 ? 0 : position - args.window + 1;
  const int64_t in_chunk = args.chunk == 0 ? 0 : position / args.chunk * args.chunk;
  const int64_t begin = std::max<int64_t>({0, in_window, in_chunk});
  if (args.end == 0) return {begin, position + 1};
  return {begin, args.window == 0 ? args.end : std::min(args.end, position + args.window)};
}

/// Where the query for the pinned positions was rotated to.
inline int64_t PinnedPosition(const AttentionArgs& args) { return args.pinned + args.window - 1; }

/// The positions in both.
inline PositionRange Intersect(PositionRange a, PositionRange b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// The part of `range` that lies in the partition that starts at `partition`.
inline PositionRange CutToPartition(PositionRange range, int64_t partition) {
  return Intersect(range, {partition, partition + kPartitionTokens});
}

/// The start of the partition that holds `position`.
inline int64_t PartitionStart(int64_t position) {
  return position / kPartitionTokens * kPartitionTokens;
}

/// First byte of the page that holds `position`.
inline std::byte* PageOf(const PagedKv& kv, int64_t position) {
  return kv.arena + kv.pages[position / kPageTokens] * kv.page_stride;
}

/// Element 0 of the K tile that holds `position`: element d of the tile's token j is
/// d * kKeyTileTokens + j elements further, where it is not quantized.
inline std::byte* KeyTileOf(const PagedKv& kv, int64_t position) {
  const int64_t tile = position % kPageTokens / kKeyTileTokens;
  return PageOf(kv, position) + kv.key_offset + tile * KeyTileBytes(kv.types.keys, kv.key_dim);
}

/// Element 0 of the V row of `position`, where values have rows of their own. Where they are
/// quantized byte i of the row is 2 i further.
inline std::byte* ValueRowOf(const PagedKv& kv, int64_t position) {
  std::byte* rows = PageOf(kv, position) + kv.value_offset;
  const int64_t row_bytes = ValueRowBytes(kv.types.values, kv.value_dim);
  const int64_t row = position % kPageTokens;
  return rows +
         (IsQuantized(kv.types.values) ? row / 2 * 2 * row_bytes + row % 2 : row * row_bytes);
}

/// The scales of quantized K, and V, of the page that holds `position`.
inline std::byte* KeyScalesOf(const PagedKv& kv, int64_t position) {
  return PageOf(kv, position) + kv.key_offset + KeyPageBytes(kv.types.keys, kv.key_dim) -
         ScalePageBytes(kv.types.keys);
}
inline std::byte* ValueScalesOf(const PagedKv& kv, int64_t position) {
  return PageOf(kv, position) + kv.value_offset + ValuePageBytes(kv.types.values, kv.value_dim) -
         ScalePageBytes(kv.types.values);
}

/// Where K and V of one partition lie, and what to ask memory for meanwhile. Only the entries of
/// pages that hold a position of the range asked for are set: the page table is not read elsewhere.
struct PartitionView {
  const std::byte* key_tiles[kPartitionTokens / kKeyTileTokens];
  const std::byte* value_pages[kPartitionTokens / kPageTokens];  ///< V row 0 of each page
  /// Of quantized types: 32 scales of each page.
  const BFloat16* key_scales[kPartitionTokens / kPageTokens];
  const BFloat16* value_scales[kPartitionTokens / kPageTokens];
  /// While K of a page is at work, V of the same page is asked for; while its V is, K of the page
  /// one partition further on (or, at the end, what is there already).
  const std::byte* after_keys[kPartitionTokens / kPageTokens];
  const std::byte* after_values[kPartitionTokens / kPageTokens];
};

/// Fills `view` for the positions of `range`, which lie in the partition that starts at
/// `partition`. Pages from position `end` on are not looked at.
inline void LocatePartition(const PagedKv& kv, int64_t partition, PositionRange range, int64_t end,
                            PartitionView& view) {
  const int64_t first_page = range.begin / kPageTokens * kPageTokens;
  for (int64_t position = first_page; position < range.end; position += kPageTokens) {
    const int64_t page = (position - partition) / kPageTokens;
    const int64_t next = position + kPartitionTokens;
    view.value_pages[page] = ValueRowOf(kv, position);
    view.key_tiles[2 * page] = KeyTileOf(kv, position);
    view.key_tiles[2 * page + 1] = KeyTileOf(kv, position + kKeyTileTokens);
    view.key_scales[page] = reinterpret_cast<const BFloat16*>(KeyScalesOf(kv, position));
    view.value_scales[page] = reinterpret_cast<const BFloat16*>(ValueScalesOf(kv, position));
    view.after_keys[page] = view.value_pages[page];
    view.after_values[page] = KeyTileOf(kv, next < end ? next : position);
  }
}

/// The number of each lane of a vector.
inline constexpr float kLaneNumbers[kKeyTileTokens] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                       8, 9, 10, 11, 12, 13, 14, 15};

/// Rows of a block: their queries and running outputs stay in the scratch (and in L2) while the
/// partitions pass by, so K and V of a partition are read from memory, and widened, once for all of
/// them. A token with more heads than this is a block of its own.
inline constexpr int kBlockRows = 128;
/// Rows that take the four steps of a partition together: few enough that their scores (17 KiB) and
/// a stripe of K or V stay in L1.
inline constexpr int kGroupRows = 16;
/// Rows that one inner kernel handles at a time: 8 rows x 2 vectors are 16 accumulators.
inline constexpr int kMicroRows = 8;
/// Floats from the scores of one row to those of the next: not a power of two, so that 8 rows do
/// not compete for the same cache sets.
inline constexpr int kScoreStride = kPartitionTokens + 16;

/// The same for integer weights.
inline constexpr int kWeightStride = kPartitionTokens + 32;

/// How AttentionArgs::scratch is divided; offsets and sizes in floats, each a multiple of 16.
struct AttentionScratch {
  int block_tokens = 0;      ///< tokens of a block: all heads of a token are in the same block
  int query_stride = 0;      ///< floats from one element of the scaled queries to the next
  int padded_values = 0;     ///< floats from one row's output to the next
  int64_t query = 0;         ///< scaled queries of the block: [key_dim padded][query_stride]; where
                             ///< keys are quantized [groups of 4][query_stride][4 bytes]
  int64_t query_scale = 0;   ///< of the rows, where keys are quantized
  int64_t query_offset = 0;  ///< of the rows: what their integer sums start from
  int64_t out = 0;           ///< running o of the rows
  int64_t maximum = 0;       ///< running m of the rows
  int64_t sum = 0;           ///< running l of the rows
  // For kGroupRows rows in one partition:
  int64_t scores = 0;             ///< S, then e
  int64_t partial = 0;            ///< o_p
  int64_t partition_maximum = 0;  ///< m_p, then the factor a of the merge
  int64_t partition_sum = 0;      ///< l_p, then the factor b of the merge
  int64_t weights = 0;            ///< where values are quantized: 16 bits each
  int64_t weight_scale = 0;       ///< of the rows
  // For all rows in one partition:
  int64_t keys = 0;    ///< K, widened to floats: by tiles, as in the cache
  int64_t values = 0;  ///< V, widened to floats; where it is quantized to 16 bits, pairs as ever
  int64_t size = 0;
};

inline AttentionScratch LayOutScratch(int key_dim, int value_dim, int group) {
  AttentionScratch layout;
  layout.block_tokens = std::max(1, kBlockRows / group);
  layout.padded_values = PaddedValueDim(value_dim);
  const int64_t rows = int64_t{layout.block_tokens} * group;
  // An odd number of cache lines, so that the elements of a query do not compete for a few sets.
  layout.query_stride = static_cast<int>(((rows + 15) / 16 | 1) * 16);
  const int64_t padded_keys = (key_dim + 15) / 16 * 16;
  int64_t next = 0;
  const auto take = [&next](int64_t floats) {
    const int64_t start = next;
    next += (floats + 15) / 16 * 16;
    return start;
  };
  layout.query = take(padded_keys * layout.query_stride);
  layout.query_scale = take(rows);
  layout.query_offset = take(rows);
  layout.out = take(rows * layout.padded_values);
  layout.maximum = take(rows);
  layout.sum = take(rows);
  layout.scores = take(int64_t{kGroupRows} * kScoreStride);
  layout.partial = take(int64_t{kGroupRows} * layout.padded_values);
  layout.partition_maximum = take(kGroupRows);
  layout.partition_sum = take(kGroupRows);
  layout.weights = take(int64_t{kGroupRows} * kWeightStride / 2);
  layout.weight_scale = take(kGroupRows);
  layout.keys = take(int64_t{kPartitionTokens} * key_dim);
  layout.values = take(int64_t{kPartitionTokens} * layout.padded_values);
  layout.size = next;
  return layout;
}

/// A block of rows on its way over the partitions. Row i is query head i % group of token
/// first_token + i / group.
struct AttentionBlock {
  const AttentionArgs* args = nullptr;
  AttentionScratch layout;
  int64_t first_token = 0;
  int64_t rows = 0;
  bool on_pinned = false;  ///< on its way over the pinned positions, with their queries

  bool QuantizedKeys() const { return IsQuantized(args->kv.types.keys); }
  /// Values that lie in keys are not.
  bool QuantizedValues() const {
    return args->kv.values == ValuePlace::kOwn && IsQuantized(args->kv.types.values);
  }
  /// Of row i: where its query was rotated to.
  int64_t Position(int64_t row) const {
    if (on_pinned) return PinnedPosition(*args);
    return args->first_position + first_token + row / args->group;
  }
  /// The query of row i.
  const float* Query(int64_t row) const {
    const float* queries = on_pinned ? args->pinned_query : args->query;
    return queries + (first_token + row / args->group) * args->query_stride +
           row % args->group * args->kv.key_dim;
  }
  /// What row i sees.
  PositionRange Visible(int64_t row) const {
    return on_pinned ? PositionRange{0, args->pinned} : VisibleRange(Position(row), *args);
  }
  /// What any row sees. Without gaps: the tokens are consecutive.
  PositionRange Visible() const { return {Visible(0).begin, Visible(rows - 1).end}; }
};

/// Up to kGroupRows rows of a block in one partition; each sees some of it. Rows are counted from
/// 0, positions from the start of the partition.
struct PartitionRows {
  const AttentionBlock* block = nullptr;
  const PartitionView* view = nullptr;  ///< of what any of the rows sees, or more
  int64_t first_row = 0;                ///< row 0 in the block
  int count = 0;
  PositionRange visible[kGroupRows];  ///< of each row, not empty; both ends ascend

  /// What any, and what each, of `rows` rows from `row` on sees.
  PositionRange Any(int row, int rows) const {
    return {visible[row].begin, visible[row + rows - 1].end};
  }
  PositionRange Common(int row, int rows) const {
    return {visible[row + rows - 1].begin, visible[row].end};
  }
  float* Scores(int row) const {
    return block->args->scratch + block->layout.scores + row * kScoreStride;
  }
  float* Partial(int row) const {
    return block->args->scratch + block->layout.partial + row * block->layout.padded_values;
  }
  int16_t* Weights(int row) const {
    return reinterpret_cast<int16_t*>(block->args->scratch + block->layout.weights) +
           row * kWeightStride;
  }
};

/// Value elements and positions for one pass of an inner kernel.
struct ValueBlock {
  const PartitionView* view = nullptr;
  int64_t padded = 0;   ///< elements of a V row, and floats of an output row
  int64_t column = 0;   ///< first value element
  PositionRange range;  ///< relative to the partition
};

/// K tiles of a partition.
struct TileRange {
  int first;
  int end;
};

/// The tiles of the pages that hold `positions`, up to the last one needed.
inline TileRange TilesOf(PositionRange positions) {
  return {static_cast<int>(positions.begin / kPageTokens * kPageTiles),
          static_cast<int>((positions.end - 1) / kKeyTileTokens + 1)};
}

/// Rows of the next inner kernel when `remaining` rows are left and a kernel takes kRows: they are
/// shared out evenly, so 9 rows become 5 + 4 and not 8 + 1.
template <int kRows>
constexpr int NextRows(int remaining) {
  const int kernels = (remaining + kRows - 1) / kRows;
  return (remaining + kernels - 1) / kernels;
}

}  // namespace skald::kernels
