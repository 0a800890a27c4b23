/// LogitRow: a row of logits seen through a mask, a block at a time.
///
/// A mask is one bit a token: bit t % 64 of word t / 64 says whether token t may be chosen. What
/// may not has a logit of -infinity to everybody who looks through it. No row is written for that:
/// who passes over a row asks for its blocks. One without a token that may be chosen costs a look
/// at its four words, and one in which all may be is the model's own memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/ids.h"

namespace skald::sampling {

/// Logits per block: 501 blocks for the 128,256 tokens of Llama 3.
inline constexpr int64_t kLogitBlock = 256;

/// [ceil(vocab_size / 64)] words, or none: every token may be chosen. Bits behind the vocabulary
/// mean nothing.
using TokenMask = std::span<const uint64_t>;

/// Words of a mask for so many tokens.
constexpr size_t MaskWords(size_t vocab_size) { return (vocab_size + 63) / 64; }

struct LogitRow {
  std::span<const float> logits;  ///< [vocab_size]
  TokenMask mask = {};
};

using BlockScratch = std::array<float, kLogitBlock>;

/// The logits of block number `block`, the last may be short. Empty: no token of it may be chosen.
/// Lies in the row, or in `scratch`.
std::span<const float> BlockOf(const LogitRow& row, size_t block, BlockScratch* scratch);

/// What one pass over a row of logits finds.
struct LogitScan {
  float max = 0;         ///< the largest logit; -infinity if all are
  bool has_nan = false;  ///< then max and the block maxima mean nothing
};

/// Finds the largest logit, and of each block into `block_max` [ceil(vocab_size / kLogitBlock)]. A
/// NaN is found wherever it stands: no mask hides that weights are broken.
LogitScan ScanLogits(const LogitRow& row, std::span<float> block_max);

/// A row as ScanLogits left it.
struct ScannedRow {
  LogitRow row;
  float max = 0;  ///< above -infinity
  std::span<const float> block_max;
};

/// The lowest token whose logit equals the row's largest: greedy decoding.
TokenId FirstLikeliest(const ScannedRow& scanned);

}  // namespace skald::sampling
