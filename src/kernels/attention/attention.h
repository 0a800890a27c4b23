/// Paged attention: queries of one sequence against its pages, for one KV head (numerics 3.7).
///
/// A page holds the K and V of 32 consecutive positions. For one layer, the pages of all sequences
/// lie in one arena:
///
///     arena [page][kv_head] { K: 2 tiles of [d][16 tokens] ; V: [32 tokens][v_dim padded to 16] }
///
/// Of the quantized types q8 and q4, with 32 scales behind K and behind V:
///
///     q8   K: 2 tiles of [d / 4][16 tokens][4 bytes] ; V: [16 pairs of tokens][v_dim][2 bytes]
///     q4   K: 2 tiles of [d / 8][16 tokens][4 bytes] ; V: [16 pairs of tokens][v_dim / 2][2 bytes]
///
/// K and V may have different types. Latent attention keeps K alone: its values are the first
/// elements of its keys.
///
/// K is transposed by tiles of 16 tokens: lanes are tokens, a query element is broadcast, and no
/// horizontal sum is needed. V is row major: lanes are elements of the output. Of integers those
/// stand together that one dot instruction adds up: four elements of a token in K, the same element
/// of two tokens in V. Which page lies where never enters the arithmetic.
///
/// q8 and q4 (numerics 3.20) keep a scale per position and head, a bfloat16, and integers:
///
///     K q8   q + 128        K q4   q + 8: byte i of group g has elements 8 g + i (its low half)
///     V q8   q, signed             and 8 g + 4 + i
///                           V q4   q + 8: byte i has elements 2 i (its low half) and 2 i + 1
///
/// The same function serves decode (one token), chunked prefill and everything between: a row
/// depends on its own query, its own position and the bits of K and V, on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skald::kernels {

/// Positions in a page: the granularity of sharing.
inline constexpr int kPageTokens = 32;
/// Positions in a K tile: the lanes of a 512-bit vector.
inline constexpr int kKeyTileTokens = 16;
/// Positions are cut at absolute multiples of this: 8 pages, K and V of one head of 64 in float are
/// 128 KiB, well inside L2.
inline constexpr int kPartitionTokens = 256;

/// Element type of the cache.
enum class KvType : uint8_t {
  kF16,   ///< the default: 11 bits of mantissa
  kBF16,  ///< 8 bits of mantissa, the range of a float: nothing is ever clamped that matters
  kF32,   ///< twice the memory; for comparing engines and for tests
  kQ8,    ///< integers of 8 bits of the rotated head: half the memory
  kQ4,    ///< of 4 bits: a quarter
};

/// True of the types that keep integers and scales.
constexpr bool IsQuantized(KvType type) { return type == KvType::kQ8 || type == KvType::kQ4; }

/// The types of K and V.
struct KvTypes {
  KvType keys = KvType::kF16;
  KvType values = KvType::kF16;

  constexpr KvTypes() = default;
  constexpr KvTypes(KvType both) : keys(both), values(both) {}  // NOLINT: one type for both
  constexpr KvTypes(KvType of_keys, KvType of_values) : keys(of_keys), values(of_values) {}
  bool operator==(const KvTypes&) const = default;
};

/// Where values lie.
enum class ValuePlace : uint8_t {
  kOwn,     ///< in rows of their own
  kInKeys,  ///< nowhere else: a value is the first value_dim elements of its key
};

/// Where the K and V of one KV head of one layer and one sequence lie.
struct PagedKv {
  KvTypes types = {};
  std::byte* arena = nullptr;            ///< first byte of this layer
  int64_t page_stride = 0;               ///< bytes from one page to the next
  int64_t key_offset = 0;                ///< bytes from the start of a page to K of this head
  int64_t value_offset = 0;              ///< bytes from the start of a page to V of this head
  const int32_t* pages = nullptr;        ///< page numbers; position p is in pages[p / 32]
  int key_dim = 0;                       ///< elements of a key and a query
  int value_dim = 0;                     ///< elements of a value and an output
  ValuePlace values = ValuePlace::kOwn;  ///< kInKeys: of keys that are not quantized
};

/// The most elements of a quantized key or value.
inline constexpr int kMaxQuantizedDim = 1024;

/// Elements of one V row: value_dim padded to whole vectors. The padding is never read
/// into a result.
constexpr int PaddedValueDim(int value_dim) { return (value_dim + 15) / 16 * 16; }

/// Elements of one token in a K tile: of quantized types whole groups, 4 bytes each.
constexpr int PaddedKeyDim(KvType type, int key_dim) {
  if (!IsQuantized(type)) return key_dim;
  const int group = type == KvType::kQ8 ? 4 : 8;
  return (key_dim + group - 1) / group * group;
}

/// Bits of one element.
constexpr int KvElementBits(KvType type) {
  switch (type) {
    case KvType::kF16:
    case KvType::kBF16: return 16;
    case KvType::kF32: return 32;
    case KvType::kQ8: return 8;
    case KvType::kQ4: return 4;
  }
  return 0;
}

/// Bytes of one K tile, and of one V row (of quantized types half a pair), without scales.
constexpr int64_t KeyTileBytes(KvType type, int key_dim) {
  return int64_t{kKeyTileTokens} * PaddedKeyDim(type, key_dim) * KvElementBits(type) / 8;
}
constexpr int64_t ValueRowBytes(KvType type, int value_dim) {
  return int64_t{PaddedValueDim(value_dim)} * KvElementBits(type) / 8;
}
/// Bytes of the scales of K, or of V, of one page of one head; they stand behind the elements.
constexpr int64_t ScalePageBytes(KvType type) { return IsQuantized(type) ? 2 * kPageTokens : 0; }

/// Bytes of K, and of V, of one page of one head.
constexpr int64_t KeyPageBytes(KvType type, int key_dim) {
  return kPageTokens / kKeyTileTokens * KeyTileBytes(type, key_dim) + ScalePageBytes(type);
}
constexpr int64_t ValuePageBytes(KvType type, int value_dim) {
  return kPageTokens * ValueRowBytes(type, value_dim) + ScalePageBytes(type);
}

/// Queries of `tokens` consecutive positions of one sequence, all `group` query heads that share
/// the KV head.
///   query    of token i, head h at query + i * query_stride + h * key_dim; rotated, unscaled
///   out      of token i, head h at out + i * out_stride + h * value_dim; may not overlap the
///   inputs scratch  AttentionScratchFloats(key_dim, value_dim, group) floats, 64-byte aligned,
///   private to
///            the caller
/// K and V of every visible position must be in the pages: up to first_position + tokens - 1, or,
/// where tokens see ahead, up to end - 1.
/// Entries of the page table, and bytes of pages, that hold no visible position are not used: they
/// may be anything.
struct AttentionArgs {
  PagedKv kv;
  const float* query = nullptr;
  int64_t query_stride = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
  int64_t tokens = 0;
  int64_t first_position = 0;  ///< position of token 0
  int group = 1;
  float scale = 1;  ///< 1 / sqrt(key_dim), rounded to float
  /// 0: a token sees none behind itself (causal); else it sees those below this, too: the end of
  /// its text. At least first_position + tokens.
  int64_t end = 0;
  int64_t window = 0;  ///< positions a token sees including itself, as many ahead; 0 = all
  int64_t chunk = 0;   ///< it sees none before its own multiple of this; 0 = all
  /// Of an endless text: the first positions, at most kPartitionTokens, that each token sees beside
  /// its window, with a query of their own. All tokens are behind the first pinned + window
  /// positions. 0 = none.
  int64_t pinned = 0;
  /// Laid out as `query`, rotated to position pinned + window - 1: as far from the first positions
  /// as any token ever was that saw all before it.
  const float* pinned_query = nullptr;
  float soft_cap = 0;  ///< of the scores (numerics 3.12); 0 = none
  /// A score of each head of the group that belongs to no position: it takes its share of the
  /// softmax and gives no value (Xiao et al. 2023). nullptr = none.
  const float* sinks = nullptr;
  /// What a score of each head of the group loses for each position between the two, above 0
  /// (ALiBi, Press et al. 2022). nullptr = none.
  const float* slopes = nullptr;
  float* scratch = nullptr;
};
using AttentionFn = void (*)(const AttentionArgs& args);

/// Size of AttentionArgs::scratch, in floats, whatever the instruction set.
int64_t AttentionScratchFloats(int key_dim, int value_dim, int group);

/// Writes K and V of one token of one head at `position` (numerics 2.3: clamped, rounded; 3.20:
/// rotated, quantized). Padding becomes zero.
///   key     key_dim floats, rotated;  value   value_dim floats, not read where keys hold them
/// Concurrent calls for different positions or heads are fine.
using AppendKvFn = void (*)(const PagedKv& kv, int64_t position, const float* key,
                            const float* value);

}  // namespace skald::kernels
