#include "kernels/quantize/quantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/isa/isa.h"
#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "kernels/quantize/tile_layout.h"
#include "kernels/test_data.h"
#include "tensor/half.h"

namespace skald::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(NextTileTokens, IsTheLargestTileThatFits) {
  EXPECT_EQ(NextTileTokens(1), 1);
  EXPECT_EQ(NextTileTokens(2), 2);
  EXPECT_EQ(NextTileTokens(3), 3);
  EXPECT_EQ(NextTileTokens(5), 5);
  EXPECT_EQ(NextTileTokens(7), 7);
  EXPECT_EQ(NextTileTokens(11), 10);
  EXPECT_EQ(NextTileTokens(12), 12);
  EXPECT_EQ(NextTileTokens(13), 12);
  EXPECT_EQ(NextTileTokens(15), 15);
  EXPECT_EQ(NextTileTokens(16), 16);
  EXPECT_EQ(NextTileTokens(17), 16);
  EXPECT_EQ(NextTileTokens(int64_t{1} << 40), 16);
}

TEST(ActivationBytes, IsAMultipleOfTheUnit) {
  EXPECT_EQ(ActivationBytes(ActivationFormat::kF32, 7), 28);
  EXPECT_EQ(ActivationBytes(ActivationFormat::kBlock32, 0), 0);
  EXPECT_EQ(ActivationBytes(ActivationFormat::kBlock32, 96), 3 * 44);
  EXPECT_EQ(ActivationBytes(ActivationFormat::kBlock128, 512), 4 * 172);
  EXPECT_EQ(ActivationBytes(ActivationFormat::kBFloat16, 64), 128);
  EXPECT_EQ(ActivationBytes(ActivationFormat::kBFloat16, 65), 192);
  EXPECT_DEATH(ActivationBytes(ActivationFormat::kBlock32, 31), "CHECK failed");
  EXPECT_DEATH(ActivationBytes(ActivationFormat::kBlock128, 64), "CHECK failed");
}

class EveryIsa : public testing::TestWithParam<Isa> {
 protected:
  // The tile of `tokens` rows of `cols` floats, on poisoned memory.
  std::vector<std::byte> Tile(ActivationFormat format, const std::vector<float>& x, int tokens,
                              Isa isa) const {
    const int64_t cols = static_cast<int64_t>(x.size()) / tokens;
    std::vector<std::byte> tile(tokens * ActivationBytes(format, cols), std::byte{0xa5});
    TableFor(isa).QuantizeOf(format)(
        {.x = x.data(), .x_stride = cols, .tokens = tokens, .cols = cols, .tile = tile.data()});
    return tile;
  }
  Block32Tile<1> Block(const std::vector<float>& x) const {
    Block32Tile<1> block;
    std::memcpy(&block, Tile(ActivationFormat::kBlock32, x, 1, GetParam()).data(), sizeof(block));
    return block;
  }
  Block128Tile<1> Wide(const std::vector<float>& x) const {
    Block128Tile<1> wide;
    std::memcpy(&wide, Tile(ActivationFormat::kBlock128, x, 1, GetParam()).data(), sizeof(wide));
    return wide;
  }
};

TEST_P(EveryIsa, Block32RoundsTiesToEven) {
  std::vector<float> x(32, 0.0f);
  x[0] = 127;  // the scale is 1
  x[1] = 0.5f;
  x[2] = 1.5f;
  x[3] = 2.5f;
  x[4] = -0.5f;
  x[5] = -1.5f;
  x[6] = -127;
  x[7] = 0.50001f;
  const Block32Tile<1> block = Block(x);
  const int8_t expected[8] = {127, 0, 2, 2, 0, -2, -127, 1};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(block.q[0][i], expected[i]) << i;
  EXPECT_EQ(block.da[0], 1.0f);
  EXPECT_EQ(block.corr8[0], -8 * 3);
  EXPECT_EQ(block.corr128[0], -128 * 3);
}

TEST_P(EveryIsa, Block32OfZerosIsZero) {
  std::vector<float> x(32, 0.0f);
  x[3] = -0.0f;
  x[4] = std::numeric_limits<float>::denorm_min();
  x[5] = 0x1.fffffep-97f;  // the largest float below 2^-96
  const Block32Tile<1> block = Block(x);
  for (const int8_t q : block.q[0]) EXPECT_EQ(q, 0);
  EXPECT_EQ(std::bit_cast<uint32_t>(block.da[0]), 0u);
  EXPECT_EQ(block.corr8[0], 0);
  EXPECT_EQ(block.corr128[0], 0);
}

TEST_P(EveryIsa, Block32JustAboveTheThresholdIsScaled) {
  std::vector<float> x(32, 0.0f);
  x[31] = -0x1p-96f;
  const Block32Tile<1> block = Block(x);
  EXPECT_EQ(block.q[0][31], -127);
  EXPECT_EQ(block.da[0], 0x1p-96f / 127);
}

TEST_P(EveryIsa, Block32OfTheLargestFloatsDoesNotOverflow) {
  std::vector<float> x(32, std::numeric_limits<float>::max());
  const Block32Tile<1> block = Block(x);
  for (const int8_t q : block.q[0]) EXPECT_EQ(q, 127);
  EXPECT_EQ(block.da[0], std::numeric_limits<float>::max() / 127);
  EXPECT_EQ(block.corr128[0], -128 * 127 * 32);
}

TEST_P(EveryIsa, NotFiniteMakesTheScaleNaNAndTheIntegersZero) {
  for (const float bad : {kInfinity, -kInfinity, kNaN, -kNaN}) {
    std::vector<float> x(128, 1.0f);
    x[100] = bad;
    const Block128Tile<1> wide = Wide(x);
    EXPECT_EQ(std::bit_cast<uint32_t>(wide.da[0]), 0x7fc00000u);
    for (const auto& blocks : wide.q) {
      for (const int8_t q : blocks[0]) EXPECT_EQ(q, 0);
    }
    for (const auto& pair : wide.sum_pairs) EXPECT_EQ(pair[0], 0);
    for (const auto& corr : wide.corr32) EXPECT_EQ(corr[0], 0);
    x.resize(32);
    x[0] = bad;
    const Block32Tile<1> block = Block(x);
    EXPECT_EQ(std::bit_cast<uint32_t>(block.da[0]), 0x7fc00000u);
    for (const int8_t q : block.q[0]) EXPECT_EQ(q, 0);
  }
}

TEST_P(EveryIsa, Block128HasOneScaleAndTwoBlocksSideBySide) {
  std::vector<float> x(128, 0.0f);
  x[0] = -127;  // the scale is 1
  x[31] = 1;
  x[32] = 2.5f;
  x[64] = 63.5f;
  x[127] = 0.5f;
  const Block128Tile<1> wide = Wide(x);
  EXPECT_EQ(wide.da[0], 1.0f);
  EXPECT_EQ(wide.q[0][0][0], -127);
  EXPECT_EQ(wide.q[0][0][31], 1);
  EXPECT_EQ(wide.q[0][0][32], 2);
  EXPECT_EQ(wide.q[1][0][0], 64);
  EXPECT_EQ(wide.q[1][0][63], 0);
}

TEST_P(EveryIsa, Block128SumsAreExact) {
  std::vector<float> x(128, 127.0f);
  for (int i = 32; i < 64; ++i) x[i] = -127.0f;
  for (int i = 64; i < 80; ++i) x[i] = -127.0f;  // the first half of block 2
  const Block128Tile<1> wide = Wide(x);
  EXPECT_EQ(wide.corr32[0][0], -32 * 16 * 127);
  EXPECT_EQ(wide.corr32[2][0], 32 * 16 * 127);
  EXPECT_EQ(wide.corr32[4][0], 32 * 16 * 127);
  EXPECT_EQ(wide.corr32[5][0], -32 * 16 * 127);
  EXPECT_EQ(static_cast<int16_t>(wide.sum_pairs[0][0] & 0xffff), 4064);
  EXPECT_EQ(wide.sum_pairs[0][0] >> 16, -4064);
  EXPECT_EQ(wide.sum_pairs[1][0], 4064 << 16);
}

TEST_P(EveryIsa, F32InterleavesTheTokens) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};  // 2 tokens of 3 columns
  const std::vector<std::byte> tile = Tile(ActivationFormat::kF32, x, 2, GetParam());
  const float expected[6] = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(std::memcmp(tile.data(), expected, sizeof(expected)), 0);
}

// Two tokens of 35 columns; token 1 counts.
TEST_P(EveryIsa, BFloat16HasTheColumnsKAnd16PlusKSideBySide) {
  std::vector<float> x(2 * 35, 0.0f);
  for (int i = 0; i < 35; ++i) x[35 + i] = static_cast<float>(i + 1);
  const std::vector<std::byte> bytes = Tile(ActivationFormat::kBFloat16, x, 2, GetParam());
  BFloat16Tile<2> units[2];
  ASSERT_EQ(bytes.size(), sizeof(units));
  std::memcpy(units, bytes.data(), sizeof(units));
  for (int i = 0; i < 64; ++i) {
    const float expected = i < 35 ? static_cast<float>(i + 1) : 0.0f;
    const uint16_t bits = units[i / 32].x[1][i % 16][i % 32 / 16];
    EXPECT_EQ(tensor::FloatFromBf16(bits), expected) << "column " << i;
    EXPECT_EQ(units[i / 32].x[0][i % 16][i % 32 / 16], 0) << "token 0, column " << i;
  }
}

TEST_P(EveryIsa, BFloat16RoundsTiesToEvenAndKeepsWhatIsNotFinite) {
  const std::vector<std::pair<uint32_t, uint16_t>> cases = {
      {0x3f808000, 0x3f80},  // 1 + 2^-8, a tie: down to even
      {0x3f808001, 0x3f81},  // just above
      {0x3f818000, 0x3f82},  // a tie: up to even
      {0xbf818000, 0xbf82}, {0x80000000, 0x8000},
      {0x00008000, 0x0000},  // subnormal numbers are rounded like others
      {0x00018000, 0x0002}, {0x007fffff, 0x0080},
      {0x7f7f7fff, 0x7f7f}, {0x7f7f8000, 0x7f80},  // past the largest: infinity
      {0xff800000, 0xff80}, {0x7f800001, 0x7fc0},  // NaN stays NaN
      {0xffabcdef, 0xffeb},
  };
  std::vector<float> x;
  for (const auto& [bits, rounded] : cases) x.push_back(std::bit_cast<float>(bits));
  const std::vector<std::byte> bytes = Tile(ActivationFormat::kBFloat16, x, 1, GetParam());
  BFloat16Tile<1> unit;
  std::memcpy(&unit, bytes.data(), sizeof(unit));
  for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(unit.x[0][i][0], cases[i].second) << i;
}

// Rows that a quantizer could get wrong: each group of 32 of another kind.
std::vector<float> HardRows(int tokens, int64_t cols, std::mt19937& random) {
  std::vector<float> x((tokens * cols + 31) / 32 * 32);
  for (int64_t i = 0; i < tokens * cols; i += 32) {
    const uint32_t kind = static_cast<uint32_t>(random() % 12);
    const float exponent = std::ldexp(1.0f, static_cast<int>(random() % 9) - 4);
    for (int64_t j = i; j < i + 32; ++j) {
      x[j] = RandomFloat(random) * exponent;
      if (kind == 0) x[j] = 0;
      if (kind == 1) x[j] *= 0x1p-100f;
      if (kind == 2) x[j] *= 0x1p-140f;
      if (kind == 3) x[j] *= 0x1p+120f;
      if (kind == 4) x[j] = static_cast<float>(static_cast<int>(random() % 255) - 127) * 0.5f;
    }
    if (kind == 4) x[i] = 127;  // steps of one half: every second value is a tie
    if (kind == 5 && random() % 8 == 0) x[i + random() % 32] = kNaN;
    if (kind == 6 && random() % 8 == 0) x[i + random() % 32] = -kInfinity;
  }
  x.resize(tokens * cols);
  return x;
}

TEST_P(EveryIsa, WritesTheBytesOfTheScalarVariant) {
  std::mt19937 random(1);
  for (const ActivationFormat format : {ActivationFormat::kF32, ActivationFormat::kBlock32,
                                        ActivationFormat::kBlock128, ActivationFormat::kBFloat16}) {
    const bool any_cols = format == ActivationFormat::kF32 || format == ActivationFormat::kBFloat16;
    for (const int tokens : kTileSizes) {
      for (const int64_t cols : {256, 512, 768, 1792, 1, 31, 33, 80}) {
        if (cols % 256 != 0 && !any_cols) continue;
        const std::vector<float> x = HardRows(tokens, cols, random);
        ASSERT_EQ(Tile(format, x, tokens, GetParam()), Tile(format, x, tokens, ScalarIsa()))
            << "format " << static_cast<int>(format) << ", " << tokens << " x " << cols;
      }
    }
  }
}

TEST_P(EveryIsa, ATokenDoesNotDependOnItsTile) {
  std::mt19937 random(2);
  const int64_t cols = 512;
  const std::vector<float> x = HardRows(kTileTokens, cols, random);
  const std::vector<std::byte> tile = Tile(ActivationFormat::kBlock128, x, kTileTokens, GetParam());
  Block128Tile<kTileTokens> units[4];
  std::memcpy(units, tile.data(), sizeof(units));
  for (int m = 0; m < kTileTokens; ++m) {
    const std::vector<float> row(x.begin() + m * cols, x.begin() + (m + 1) * cols);
    const std::vector<std::byte> alone = Tile(ActivationFormat::kBlock128, row, 1, GetParam());
    Block128Tile<1> expected[4];
    std::memcpy(expected, alone.data(), sizeof(expected));
    for (int u = 0; u < 4; ++u) {
      for (int b = 0; b < 2; ++b) {
        EXPECT_EQ(std::memcmp(units[u].q[b][m], expected[u].q[b][0], 64), 0);
        EXPECT_EQ(units[u].sum_pairs[b][m], expected[u].sum_pairs[b][0]);
      }
      for (int t = 0; t < 8; ++t) EXPECT_EQ(units[u].corr32[t][m], expected[u].corr32[t][0]);
      EXPECT_EQ(std::bit_cast<uint32_t>(units[u].da[m]),
                std::bit_cast<uint32_t>(expected[u].da[0]));
    }
  }
}

TEST_P(EveryIsa, RowsMayLieApart) {
  std::mt19937 random(3);
  const std::vector<float> wide = HardRows(3, 64, random);
  std::vector<float> narrow;
  for (int m = 0; m < 3; ++m) {
    narrow.insert(narrow.end(), wide.begin() + m * 64, wide.begin() + m * 64 + 32);
  }
  std::vector<std::byte> tile(3 * ActivationBytes(ActivationFormat::kBlock32, 32));
  TableFor(GetParam())
      .QuantizeOf(ActivationFormat::kBlock32)(
          {.x = wide.data(), .x_stride = 64, .tokens = 3, .cols = 32, .tile = tile.data()});
  EXPECT_EQ(tile, Tile(ActivationFormat::kBlock32, narrow, 3, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Quantize, EveryIsa, testing::ValuesIn(TestedIsas()),
                         [](const testing::TestParamInfo<Isa>& isa) {
                           return std::string(isa.param.name);
                         });

// As floats they are only transposed, by the same code for all (isa/scalar.cc).
TEST(Quantize, AFasterLevelHasItsOwnFunctions) {
  KernelTable scalar;
  ScalarIsa().install(scalar);
  for (const Isa& isa : AllIsas()) {
    if (isa == ScalarIsa()) continue;
    KernelTable table;
    isa.install(table);
    for (const auto format :
         {ActivationFormat::kBlock32, ActivationFormat::kBlock128, ActivationFormat::kBFloat16}) {
      EXPECT_NE(table.QuantizeOf(format), scalar.QuantizeOf(format)) << isa.name;
    }
  }
}

TEST(Quantize, EveryVariantOfThisMachineRan) { ExpectTestsOfEveryIsa("Quantize/EveryIsa"); }

}  // namespace
}  // namespace skald::kernels
