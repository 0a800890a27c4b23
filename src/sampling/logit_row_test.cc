#include "sampling/logit_row.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace skald::sampling {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kSizes[] = {1,   2,   15,  16,  17,  63,  64,  65,  127, 128,
                             255, 256, 257, 300, 319, 320, 321, 512, 513, 1000};

std::vector<float> BlockMaxFor(size_t size) {
  return std::vector<float>((size + kLogitBlock - 1) / kLogitBlock, 99.0f);
}

std::vector<uint64_t> MaskOf(size_t size, const std::vector<size_t>& allowed) {
  std::vector<uint64_t> words(MaskWords(size));
  for (const size_t token : allowed) words[token / 64] |= uint64_t{1} << token % 64;
  return words;
}

TEST(ScanLogits, FindsEveryNanAndEveryMaximumWhereverTheyAre) {
  for (const size_t size : kSizes) {
    for (size_t at = 0; at < size; ++at) {
      std::vector<float> row(size, -2.0f);
      std::vector<float> block_max = BlockMaxFor(size);
      row[at] = 7.0f;
      EXPECT_EQ(ScanLogits({row}, block_max).max, 7.0f) << size << " " << at;
      EXPECT_EQ(block_max[at / kLogitBlock], 7.0f) << size << " " << at;
      EXPECT_EQ(FirstLikeliest({{row}, 7.0f, block_max}), static_cast<TokenId>(at));
      row[at] = kNan;
      EXPECT_TRUE(ScanLogits({row}, block_max).has_nan) << size << " " << at;
    }
  }
}

TEST(ScanLogits, SeesOnlyWhatTheMaskAllows) {
  for (const size_t size : kSizes) {
    for (size_t at = 0; at < size; ++at) {
      std::vector<float> row(size, 5.0f);
      row[at] = -3.0f;
      const std::vector<uint64_t> mask = MaskOf(size, {at});
      std::vector<float> block_max = BlockMaxFor(size);
      const LogitScan scan = ScanLogits({row, mask}, block_max);
      EXPECT_EQ(scan.max, -3.0f) << size << " " << at;
      for (size_t block = 0; block < block_max.size(); ++block) {
        EXPECT_EQ(block_max[block], block == at / kLogitBlock ? -3.0f : -kInf);
      }
      EXPECT_EQ(FirstLikeliest({{row, mask}, scan.max, block_max}), static_cast<TokenId>(at));
    }
  }
}

TEST(ScanLogits, FindsNanThatTheMaskForbids) {
  for (const size_t at : {0, 255, 256, 700, 999}) {
    std::vector<float> row(1000, 1.0f);
    row[at] = kNan;
    std::vector<float> block_max = BlockMaxFor(row.size());
    EXPECT_TRUE(ScanLogits({row, MaskOf(row.size(), {400})}, block_max).has_nan) << at;
  }
}

TEST(ScanLogits, OfAMaskWithNothingIsMinusInfinity) {
  const std::vector<float> row(600, kInf);
  std::vector<float> block_max = BlockMaxFor(row.size());
  EXPECT_EQ(ScanLogits({row, MaskOf(row.size(), {})}, block_max).max, -kInf);
}

TEST(BlockOf, IsTheRowWhereAllMayBeChosenAndNothingWhereNoneMay) {
  const std::vector<float> row(700, 1.0f);
  std::vector<uint64_t> mask(MaskWords(row.size()), ~uint64_t{0});
  std::fill(mask.begin() + 4, mask.begin() + 8, 0);
  BlockScratch scratch;
  EXPECT_EQ(BlockOf({row, mask}, 0, &scratch).data(), row.data());
  EXPECT_TRUE(BlockOf({row, mask}, 1, &scratch).empty());
  EXPECT_EQ(BlockOf({row}, 1, &scratch).data(), row.data() + 256);
}

TEST(BlockOf, IgnoresBitsBehindTheVocabulary) {
  const std::vector<float> row = {1, 2, 3};
  const std::vector<uint64_t> mask = {~uint64_t{0} << 2};
  BlockScratch scratch;
  const auto block = BlockOf({row, mask}, 0, &scratch);
  EXPECT_EQ(std::vector<float>(block.begin(), block.end()), (std::vector<float>{-kInf, -kInf, 3}));
}

TEST(BlockOf, WritesMinusInfinityForEveryTokenWithoutABit) {
  std::mt19937_64 random(5);
  for (const size_t size : kSizes) {
    std::vector<float> row(size);
    for (float& logit : row) logit = static_cast<float>(random() % 100) - 50;
    std::vector<uint64_t> mask(MaskWords(size));
    for (uint64_t& word : mask) word = random();
    for (size_t block = 0; block * kLogitBlock < size; ++block) {
      BlockScratch scratch;
      const auto seen = BlockOf({row, mask}, block, &scratch);
      ASSERT_EQ(seen.size(), std::min<size_t>(kLogitBlock, size - block * kLogitBlock));
      for (size_t i = 0; i < seen.size(); ++i) {
        const size_t token = block * kLogitBlock + i;
        EXPECT_EQ(seen[i], mask[token / 64] >> token % 64 & 1 ? row[token] : -kInf) << token;
      }
    }
  }
}

}  // namespace
}  // namespace skald::sampling
