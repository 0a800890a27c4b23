#include "sampling/logit_row.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"

namespace skald::sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kBlock = static_cast<size_t>(kLogitBlock);
constexpr size_t kBlockWords = kBlock / 64;

// Loops with one operation and a constant count, which compilers turn into SIMD code. A maximum of
// floats as a running value would stay scalar, because its order could matter.

/// The largest of kLogitBlock numbers, by halving them to 16.
float LargestOfBlock(const float* logits) {
  constexpr int kHalf = kLogitBlock / 2;
  std::array<float, kHalf> largest;
  for (int i = 0; i < kHalf; ++i) {
    largest[i] = logits[i] > logits[i + kHalf] ? logits[i] : logits[i + kHalf];
  }
  for (int i = 0; i < 64; ++i) largest[i] = std::max(largest[i], largest[i + 64]);
  for (int i = 0; i < 32; ++i) largest[i] = std::max(largest[i], largest[i + 32]);
  for (int i = 0; i < 16; ++i) largest[i] = std::max(largest[i], largest[i + 16]);
  return *std::max_element(largest.begin(), largest.begin() + 16);
}

bool BlockHasNan(const float* logits) {
  constexpr int32_t kInfinityBits = 0x7f800000;
  int32_t nan = 0;
  for (int i = 0; i < kLogitBlock; ++i) {
    const int32_t magnitude = std::bit_cast<int32_t>(logits[i]) & 0x7fffffff;
    nan |= magnitude > kInfinityBits ? 1 : 0;
  }
  return nan != 0;
}

/// `logits`, at most a block, with -infinity for every token whose bit is 0 and behind the last.
/// Eight at a time against constant bits: a shift of its own for each token would stay scalar.
void WriteMasked(std::span<const float> logits, std::span<const uint64_t> words, float* out) {
  constexpr int32_t kBits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  std::copy(logits.begin(), logits.end(), out);
  std::fill(out + logits.size(), out + kBlock, -kInfinity);
  for (size_t eight = 0; eight < words.size() * 8; ++eight) {
    const auto allowed = static_cast<int32_t>(words[eight / 8] >> (eight % 8 * 8) & 0xff);
    for (size_t i = 0; i < 8; ++i) {
      float& logit = out[eight * 8 + i];
      logit = (allowed & kBits[i]) != 0 ? logit : -kInfinity;
    }
  }
}

}  // namespace

std::span<const float> BlockOf(const LogitRow& row, size_t block, BlockScratch* scratch) {
  const auto rest = row.logits.subspan(block * kBlock);
  const auto part = rest.first(std::min(kBlock, rest.size()));
  if (row.mask.empty()) return part;
  const auto words = row.mask.subspan(block * kBlockWords, MaskWords(part.size()));
  uint64_t any = 0;
  uint64_t all = ~uint64_t{0};
  for (const uint64_t word : words) {
    any |= word;
    all &= word;
  }
  if (any == 0) return {};
  if (all == ~uint64_t{0}) return part;
  WriteMasked(part, words, scratch->data());
  return std::span<const float>(*scratch).first(part.size());
}

LogitScan ScanLogits(const LogitRow& row, std::span<float> block_max) {
  LogitScan scan = {.max = -kInfinity};
  BlockScratch scratch;
  BlockScratch last;  // the short block at the end, filled up
  const auto filled_up = [&last](std::span<const float> part) {
    if (part.size() == kBlock) return part.data();
    last.fill(-kInfinity);
    std::copy(part.begin(), part.end(), last.begin());
    return static_cast<const float*>(last.data());
  };
  for (size_t block = 0; block < block_max.size(); ++block) {
    const auto own = BlockOf({row.logits}, block, &scratch);
    scan.has_nan |= BlockHasNan(filled_up(own));
    const auto seen = BlockOf(row, block, &scratch);
    block_max[block] = seen.empty() ? -kInfinity : LargestOfBlock(filled_up(seen));
    scan.max = std::max(scan.max, block_max[block]);
  }
  return scan;
}

TokenId FirstLikeliest(const ScannedRow& scanned) {
  const auto& block_max = scanned.block_max;
  const auto block = std::find(block_max.begin(), block_max.end(), scanned.max) - block_max.begin();
  BlockScratch scratch;
  const auto seen = BlockOf(scanned.row, static_cast<size_t>(block), &scratch);
  const auto first = std::find(seen.begin(), seen.end(), scanned.max);
  CHECK(first != seen.end());
  return static_cast<TokenId>(block * kLogitBlock + (first - seen.begin()));
}

}  // namespace skald::sampling
