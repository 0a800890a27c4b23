#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/paged_cache_for_test.h"
#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "tensor/half.h"

namespace skald::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class AppendKvTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, AppendKvTest, testing::ValuesIn(TestedIsas()), IsaTestName);

// Element `index` behind `offset` of the page that holds `position`.
float ElementAt(const PagedKv& kv, int64_t position, int64_t offset, int64_t index) {
  const KvType type = kv.types.keys;
  const std::byte* page = kv.arena + kv.pages[position / 32] * kv.page_stride + offset;
  if (type == KvType::kF32) {
    float value;
    std::memcpy(&value, page + 4 * index, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, page + 2 * index, 2);
  return type == KvType::kF16 ? tensor::FloatFromHalf(bits) : tensor::FloatFromBf16(bits);
}

TEST_P(AppendKvTest, KeysAreTransposedByTilesOfSixteenAndValuesAreRows) {
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kF32}) {
    PagedCacheForTest cache(type, 3, 2, 100);
    const PagedKv& kv = cache.kv();
    cache.Append(GetParam(), 32 + 21, {1.0f, 2.0f, 3.0f}, {4.0f, 5.0f});
    // Position 21 of its page: tile 1, token 5. A tile has 3 rows of 16; a V row is padded to 16.
    EXPECT_EQ(ElementAt(kv, 53, kv.key_offset, 48 + 0 * 16 + 5), 1.0f);
    EXPECT_EQ(ElementAt(kv, 53, kv.key_offset, 48 + 1 * 16 + 5), 2.0f);
    EXPECT_EQ(ElementAt(kv, 53, kv.key_offset, 48 + 2 * 16 + 5), 3.0f);
    EXPECT_EQ(ElementAt(kv, 53, kv.value_offset, 21 * 16 + 0), 4.0f);
    EXPECT_EQ(ElementAt(kv, 53, kv.value_offset, 21 * 16 + 1), 5.0f);
    for (int i = 2; i < 16; ++i) EXPECT_EQ(ElementAt(kv, 53, kv.value_offset, 21 * 16 + i), 0.0f);
    EXPECT_TRUE(std::isnan(ElementAt(kv, 53, kv.key_offset, 48 + 4))) << "the neighbour's lane";
    EXPECT_TRUE(std::isnan(ElementAt(kv, 53, kv.key_offset, 48 + 6)));
    EXPECT_TRUE(std::isnan(ElementAt(kv, 53, kv.value_offset, 22 * 16)));
  }
}

TEST_P(AppendKvTest, ValuesInKeysAreNotWrittenAgain) {
  PagedCacheForTest cache(KvType::kF16, 3, 2, 32, 1, ValuePlace::kInKeys);
  const PagedKv& kv = cache.kv();
  TableFor(GetParam()).append_kv(kv, 5, std::vector<float>{1.0f, 2.0f, 3.0f}.data(), nullptr);
  EXPECT_EQ(ElementAt(kv, 5, kv.key_offset, 2 * 16 + 5), 3.0f);
  EXPECT_EQ(kv.page_stride, 2 * KeyPageBytes(KvType::kF16, 3));
}

TEST_P(AppendKvTest, HalvesAreClampedSoThatNoneIsInfinite) {
  PagedCacheForTest cache(KvType::kF16, 6, 1, 1);
  const PagedKv& kv = cache.kv();
  cache.Append(GetParam(), 0, {65504.0f, 65520.0f, 1e30f, kInfinity, -kInfinity, kNaN}, {-7e4f});
  for (int d = 0; d < 4; ++d) EXPECT_EQ(ElementAt(kv, 0, kv.key_offset, d * 16), 65504.0f) << d;
  EXPECT_EQ(ElementAt(kv, 0, kv.key_offset, 4 * 16), -65504.0f);
  EXPECT_TRUE(std::isnan(ElementAt(kv, 0, kv.key_offset, 5 * 16))) << "an error stays visible";
  EXPECT_EQ(ElementAt(kv, 0, kv.value_offset, 0), -65504.0f);
}

TEST_P(AppendKvTest, BFloat16RoundsToEvenAndIsClamped) {
  PagedCacheForTest cache(KvType::kBF16, 6, 2, 1);
  const PagedKv& kv = cache.kv();
  // Eight bits of mantissa: 257 lies between 256 and 258, 259 between 258 and 260.
  cache.Append(GetParam(), 0, {257.0f, 259.0f, 3.4e38f, -kInfinity, kNaN, 1e-40f}, {-257.0f, 7e4f});
  EXPECT_EQ(ElementAt(kv, 0, kv.key_offset, 0 * 16), 256.0f);
  EXPECT_EQ(ElementAt(kv, 0, kv.key_offset, 1 * 16), 260.0f);
  EXPECT_EQ(ElementAt(kv, 0, kv.key_offset, 2 * 16), 0x1.fep+127f);
  EXPECT_EQ(ElementAt(kv, 0, kv.key_offset, 3 * 16), -0x1.fep+127f);
  EXPECT_TRUE(std::isnan(ElementAt(kv, 0, kv.key_offset, 4 * 16)));
  EXPECT_EQ(ElementAt(kv, 0, kv.key_offset, 5 * 16), 0x1p-133f) << "the smallest subnormal";
  EXPECT_EQ(ElementAt(kv, 0, kv.value_offset, 0), -256.0f);
  EXPECT_EQ(ElementAt(kv, 0, kv.value_offset, 1), 70144.0f);
}

// The byte `index` behind `offset` of the page that holds `position`.
int ByteAt(const PagedKv& kv, int64_t position, int64_t offset, int64_t index) {
  return std::to_integer<int>(
      (kv.arena + kv.pages[position / 32] * kv.page_stride + offset)[index]);
}
float ScaleAt(const PagedKv& kv, int64_t position, int64_t offset, int64_t page_bytes) {
  const int64_t start = page_bytes - 64 + 2 * (position % 32);
  return tensor::FloatFromBf16(static_cast<uint16_t>(ByteAt(kv, position, offset, start) |
                                                     ByteAt(kv, position, offset, start + 1) << 8));
}

// A single element is a block of its own, which no rotation changes; so is the last of 5.
TEST_P(AppendKvTest, BytesHaveGroupsOfFourAndAScaleBehindAll) {
  PagedCacheForTest cache(KvType::kQ8, 5, 1, 64);
  const PagedKv& kv = cache.kv();
  cache.Append(GetParam(), 32 + 21, {0.0f, 0.0f, 0.0f, 0.0f, -127.0f}, {63.5f});
  EXPECT_EQ(kv.value_offset - kv.key_offset, 2 * 16 * 8 + 64) << "5 elements take two groups";
  // Position 21 of its page: tile 1, token 5.
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ByteAt(kv, 53, kv.key_offset, 128 + 20 + i), 128);
  EXPECT_EQ(ByteAt(kv, 53, kv.key_offset, 128 + 64 + 20), 1);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(ByteAt(kv, 53, kv.key_offset, 128 + 64 + 20 + i), 128);
  EXPECT_EQ(ScaleAt(kv, 53, kv.key_offset, KeyPageBytes(KvType::kQ8, 5)), 1.0f);
  EXPECT_EQ(ByteAt(kv, 53, kv.value_offset, 20 * 16 + 1), 127);
  EXPECT_EQ(ByteAt(kv, 53, kv.value_offset, 20 * 16 + 3), 0);
  EXPECT_EQ(ScaleAt(kv, 53, kv.value_offset, ValuePageBytes(KvType::kQ8, 1)), 0.5f);
  EXPECT_EQ(ByteAt(kv, 53, kv.key_offset, 128 + 16), 0xff) << "the neighbour";
  EXPECT_EQ(ByteAt(kv, 53, kv.value_offset, 20 * 16 + 2), 0xff);
  EXPECT_TRUE(std::isnan(ScaleAt(kv, 54, kv.value_offset, ValuePageBytes(KvType::kQ8, 1))));
}

TEST_P(AppendKvTest, NibblesHaveGroupsOfEightAndUseBothEnds) {
  PagedCacheForTest cache(KvType::kQ4, 9, 1, 64);
  const PagedKv& kv = cache.kv();
  const std::vector<float> zeros(8, 0.0f);
  const auto key = [&](float last) {
    std::vector<float> x = zeros;
    x.push_back(last);
    return x;
  };
  cache.Append(GetParam(), 3, key(-16.0f), {16.0f});
  EXPECT_EQ(kv.value_offset - kv.key_offset, 2 * 16 * 8 + 64) << "9 elements take two groups";
  EXPECT_EQ(ByteAt(kv, 3, kv.key_offset, 12), 0x88) << "zeros";
  EXPECT_EQ(ByteAt(kv, 3, kv.key_offset, 64 + 12), 0x80) << "element 8: -8; 12: padding";
  EXPECT_EQ(ScaleAt(kv, 3, kv.key_offset, KeyPageBytes(KvType::kQ4, 9)), 2.0f);
  // The larger end is -8, also of positive elements.
  EXPECT_EQ(ByteAt(kv, 3, kv.value_offset, 2 * 8 + 1), 0x80);
  EXPECT_EQ(ScaleAt(kv, 3, kv.value_offset, ValuePageBytes(KvType::kQ4, 1)), -2.0f);
}

// Rounded to a bfloat16 towards zero, the end of a head would be beyond the last integer.
TEST_P(AppendKvTest, ScalesAreRoundedAwayFromZero) {
  for (const KvType type : {KvType::kQ8, KvType::kQ4}) {
    const float last = type == KvType::kQ8 ? 127 : 8;
    for (int i = 1; i < 300; ++i) {
      PagedCacheForTest cache(type, 1, 1, 1);
      const float x = -0.37f * static_cast<float>(i);
      cache.Append(GetParam(), 0, {x}, {x});
      const PagedKv& kv = cache.kv();
      const float scale = ScaleAt(kv, 0, kv.value_offset, ValuePageBytes(type, 1));
      EXPECT_GE(scale * last, -x * (1 - 0x1p-22f)) << x;
      EXPECT_LE(scale * last, -x * (1 + 0x1p-7f)) << x;
      const int q = ByteAt(kv, 0, kv.value_offset, 0);
      EXPECT_TRUE(type == KvType::kQ8 ? q == 256 - 127 || q == 256 - 126 : (q & 0xf) == 0) << x;
    }
  }
}

TEST_P(AppendKvTest, ARotatedHeadKeepsItsLengthAndSpreadsAnOutlier) {
  PagedCacheForTest cache(KvType::kQ8, 64, 64, 1);
  const PagedKv& kv = cache.kv();
  std::vector<float> head(64, 0.0f);
  head[5] = 127.0f * 8;
  cache.Append(GetParam(), 0, head, head);
  EXPECT_EQ(ScaleAt(kv, 0, kv.value_offset, ValuePageBytes(KvType::kQ8, 64)), 1.0f);
  for (int i = 0; i < 64; ++i) {
    // Row 5 of the matrix: the parity of the bits that 5 and i share.
    const int expected = ((i & 1) + (i >> 2 & 1)) % 2 == 0 ? 127 : 256 - 127;
    EXPECT_EQ(ByteAt(kv, 0, kv.value_offset, 2 * i), expected) << i;
  }
}

// What is no number, too large to add up, too small to divide by, or all in one element.
TEST_P(AppendKvTest, QuantizesAdversarialHeadsAsTheSpecification) {
  std::mt19937 random(9);
  const std::vector<float> odd = {0.0f,     -0.0f,  1e-45f,    -1e-38f, 0x1p-96f, 0x1.8p-97f,
                                  0x1p-90f, 1.0f,   -1.0f,     3e38f,   -3e38f,   1e30f,
                                  127.0f,   127.5f, kInfinity, kNaN,    0.5f,     -kInfinity};
  for (const KvType type : {KvType::kQ8, KvType::kQ4}) {
    for (const int dim : {1, 2, 3, 8, 16, 17, 31, 32, 33, 64, 80, 96, 128, 576}) {
      PagedCacheForTest expected(type, dim, dim, 32);
      PagedCacheForTest got(type, dim, dim, 32);
      for (int64_t position = 0; position < 32; ++position) {
        const bool outliers = position % 2 == 0;
        std::vector<float> head(static_cast<size_t>(dim), outliers ? 0.0f : 1e-3f);
        const size_t base = random() % odd.size();
        for (float& x : head) {
          if (position % 4 == 1) x = odd[(base + random() % 3) % odd.size()];
          if (position % 4 == 3) x = static_cast<float>(random() % 255) - 127.0f;
        }
        if (outliers) head[random() % head.size()] = odd[base];
        expected.Append(ScalarIsa(), position, head, head);
        got.Append(GetParam(), position, head, head);
      }
      EXPECT_EQ(got.bytes(), expected.bytes()) << dim;
    }
  }
}

TEST_P(AppendKvTest, WritesTheBytesOfTheSpecification) {
  std::mt19937 random(5);
  for (const KvType type : {KvType::kF16, KvType::kBF16, KvType::kF32, KvType::kQ8, KvType::kQ4}) {
    for (const int dim : {1, 7, 15, 16, 17, 31, 33, 64, 80, 128}) {
      PagedCacheForTest expected(type, dim, dim + 1, 64);
      PagedCacheForTest got(type, dim, dim + 1, 64);
      for (int64_t position = 0; position < 64; position += 1 + position % 3) {
        std::vector<float> key(static_cast<size_t>(dim));
        std::vector<float> value(static_cast<size_t>(dim + 1));
        for (auto* vector : {&key, &value}) {
          // Magnitudes from below the smallest half (2^-25) to above the largest.
          for (float& x : *vector) {
            x = std::ldexp(static_cast<float>(random() % 8191) - 4095.0f,
                           static_cast<int>(random() % 48) - 40);
          }
        }
        expected.Append(ScalarIsa(), position, key, value);
        got.Append(GetParam(), position, key, value);
      }
      EXPECT_EQ(got.bytes(), expected.bytes()) << dim;
    }
  }
}

}  // namespace
}  // namespace skald::kernels
