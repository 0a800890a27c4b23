/// Paged attention: queries of one sequence against its pages, for one KV head (numerics 3.7).
///
/// A page holds the K and V of 32 consecutive positions. For one layer, the pages of all sequences
/// lie in one arena:
///
///     arena [page][kv_head] { K: 2 tiles of [d][16 tokens] ; V: [32 tokens][v_dim padded to 16] }
///     f16 or f32
///
/// Latent attention keeps K alone: its values are the first elements of its keys.
///
/// K is transposed by tiles of 16 tokens: lanes are tokens, a query element is broadcast, and no
/// horizontal sum is needed. V is row major: lanes are elements of the output. Which page lies
/// where never enters the arithmetic.
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
};

/// Where values lie.
enum class ValuePlace : uint8_t {
  kOwn,     ///< in rows of their own
  kInKeys,  ///< nowhere else: a value is the first value_dim elements of its key
};

/// Where the K and V of one KV head of one layer and one sequence lie.
struct PagedKv {
  KvType type = KvType::kF16;
  std::byte* arena = nullptr;      ///< first byte of this layer
  int64_t page_stride = 0;         ///< bytes from one page to the next
  int64_t key_offset = 0;          ///< bytes from the start of a page to K of this head
  int64_t value_offset = 0;        ///< bytes from the start of a page to V of this head
  const int32_t* pages = nullptr;  ///< page numbers; position p is in pages[p / 32]
  int key_dim = 0;                 ///< elements of a key and a query
  int value_dim = 0;               ///< elements of a value and an output
  ValuePlace values = ValuePlace::kOwn;
};

/// Elements of one V row: value_dim padded to whole vectors. The padding is never read
/// into a result.
constexpr int PaddedValueDim(int value_dim) { return (value_dim + 15) / 16 * 16; }

/// Bytes of one element.
constexpr int KvElementBytes(KvType type) { return type == KvType::kF32 ? 4 : 2; }

/// Bytes of K, and of V, of one page of one head.
constexpr int64_t KeyPageBytes(KvType type, int key_dim) {
  return int64_t{kPageTokens} * key_dim * KvElementBytes(type);
}
constexpr int64_t ValuePageBytes(KvType type, int value_dim) {
  return int64_t{kPageTokens} * PaddedValueDim(value_dim) * KvElementBytes(type);
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

/// Writes K and V of one token of one head at `position` (numerics 2.3: clamped, rounded). The
/// padding of the V row becomes zero.
///   key     key_dim floats, rotated;  value   value_dim floats, not read where keys hold them
/// Concurrent calls for different positions or heads are fine.
using AppendKvFn = void (*)(const PagedKv& kv, int64_t position, const float* key,
                            const float* value);

}  // namespace skald::kernels
