#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/pack/dequantize.h"
#include "kernels/pack/panel.h"
#include "kernels/pack/unit_layout.h"
#include "kernels/test_data.h"
#include "tensor/codebooks.h"
#include "tensor/dtype.h"
#include "tensor/half.h"
#include "tensor/low_bit_blocks.h"
#include "tensor/quant_blocks.h"

namespace skald::kernels {
namespace {

using tensor::DType;
using tensor::DTypeInfo;

template <typename Block>
std::vector<float> Dequantized(DType dtype, const Block& block, int64_t cols) {
  std::vector<float> out(static_cast<size_t>(cols));
  DequantizeRow(dtype, std::as_bytes(std::span(&block, 1)), cols, out.data());
  return out;
}

// The oracle itself, against values worked out by hand from the format descriptions.

TEST(DequantizeRow, Q8_0IsScaleTimesInteger) {
  tensor::BlockQ8_0 block = {.d = tensor::HalfFromFloat(0.5f), .q = {-128, 127, 3}};
  const std::vector<float> row = Dequantized(DType::kQ8_0, block, 32);
  EXPECT_EQ(row[0], -64.0f);
  EXPECT_EQ(row[1], 63.5f);
  EXPECT_EQ(row[2], 1.5f);
  EXPECT_EQ(row[31], 0.0f);
}

// Columns of a matrix of 20 rows and 3 columns, each a stored row: as if the file had it by rows.
TEST(PackColumn, GivesThePanelsOfTheTransposedMatrix) {
  constexpr int64_t kRows = 20;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const auto element = static_cast<size_t>(tensor::InfoOf(dtype).block_bytes);
    std::vector<std::byte> by_rows(kRows * 3 * element);
    std::vector<std::byte> by_columns(by_rows.size());
    for (size_t row = 0; row < kRows; ++row) {
      for (size_t column = 0; column < 3; ++column) {
        for (size_t i = 0; i < element; ++i) {
          const auto byte = static_cast<std::byte>(1 + row * 11 + column * 3 + i);
          by_rows[(row * 3 + column) * element + i] = byte;
          by_columns[(column * kRows + row) * element + i] = byte;
        }
      }
    }
    const PackedMatrix matrix = {.type = TransposedPanelTypeFor(dtype), .rows = kRows, .cols = 3};
    const auto bytes = static_cast<size_t>(matrix.panel_count() * matrix.panel_bytes());
    std::vector<std::byte> expected(bytes, std::byte{0xff});
    std::vector<std::byte> got(bytes, std::byte{0xff});
    const std::span<const std::byte> rows = by_rows;
    PackPanel(dtype, rows.first(16 * 3 * element), 16, 3, expected.data());
    PackPanel(dtype, rows.subspan(16 * 3 * element), 4, 3, expected.data() + matrix.panel_bytes());
    for (const int64_t column : {2, 0, 1}) {
      PackColumn(dtype,
                 std::span<const std::byte>(by_columns)
                     .subspan(static_cast<size_t>(column * kRows) * element, kRows * element),
                 matrix, column, got.data());
    }
    EXPECT_EQ(got, expected) << tensor::InfoOf(dtype).name;
  }
}

TEST(PackColumn, QuantizedElementsBecomeTheFloatsTheyAre) {
  tensor::BlockQ8_0 block = {.d = tensor::HalfFromFloat(0.5f), .q = {-128, 127, 3}};
  const PackedMatrix matrix = {.type = TransposedPanelTypeFor(DType::kQ8_0), .rows = 32, .cols = 2};
  ASSERT_EQ(matrix.type, PanelType::kF32);
  std::vector<float> panels(2 * 2 * 16, -1.0f);
  const auto bytes = std::as_writable_bytes(std::span(panels));
  PackColumn(DType::kQ8_0, std::as_bytes(std::span(&block, 1)), matrix, 1, bytes.data());
  EXPECT_EQ(panels[16], -64.0f);
  EXPECT_EQ(panels[17], 63.5f);
  EXPECT_EQ(panels[2 * 16 + 16], 0.0f) << "row 16";
  EXPECT_EQ(panels[0], -1.0f) << "another column";
}

TEST(DequantizeRow, Q4_0HighNibblesAreTheSecondHalf) {
  tensor::BlockQ4_0 block = {.d = tensor::HalfFromFloat(2.0f), .qs = {0xf0, 0x18}};
  const std::vector<float> row = Dequantized(DType::kQ4_0, block, 32);
  EXPECT_EQ(row[0], -16.0f);
  EXPECT_EQ(row[16], 14.0f);
  EXPECT_EQ(row[1], 0.0f);
  EXPECT_EQ(row[17], -14.0f);
}

TEST(DequantizeRow, Q5_1TakesTheFifthBitFromQh) {
  tensor::BlockQ5_1 block = {.d = tensor::HalfFromFloat(1.0f),
                             .m = tensor::HalfFromFloat(-4.0f),
                             .qh = {0x01, 0x00, 0x01, 0x00},
                             .qs = {0x21}};
  const std::vector<float> row = Dequantized(DType::kQ5_1, block, 32);
  EXPECT_EQ(row[0], 1.0f + 16.0f - 4.0f);
  EXPECT_EQ(row[16], 2.0f + 16.0f - 4.0f);
  EXPECT_EQ(row[1], -4.0f);
}

TEST(DequantizeRow, Q4KReadsBothFormsOfTheSixBitScales) {
  tensor::BlockQ4_K block = {};
  block.d = tensor::HalfFromFloat(1.0f);
  block.dmin = tensor::HalfFromFloat(1.0f);
  block.scales[0] = 0x45;  // scale 0 = 5; its top bits 01 belong to scale 4
  block.scales[4] = 0xc3;  // minimum 0 = 3; its top bits 11 belong to minimum 4
  block.scales[8] = 0x21;  // scale 4 = 16 + 1, minimum 4 = 48 + 2
  block.qs[0] = 0x07;      // element 0 = 7
  block.qs[64] = 0x09;     // element 128 = 9 (block 4)
  const std::vector<float> row = Dequantized(DType::kQ4_K, block, 256);
  EXPECT_EQ(row[0], 5.0f * 7 - 3);
  EXPECT_EQ(row[1], -3.0f);
  EXPECT_EQ(row[128], 17.0f * 9 - 50);
}

TEST(DequantizeRow, Q6KCombinesLowAndHighBits) {
  tensor::BlockQ6_K block = {};
  block.d = tensor::HalfFromFloat(0.5f);
  block.scales[0] = -2;
  block.scales[15] = 127;
  block.ql[0] = 0x0f;    // element 0, low bits 15
  block.qh[0] = 0x03;    // and high bits 3: 63
  block.ql[127] = 0xa0;  // element 255, low bits 10
  block.qh[63] = 0x40;   // and high bits 1: 26
  const std::vector<float> row = Dequantized(DType::kQ6_K, block, 256);
  EXPECT_EQ(row[0], 0.5f * -2 * (63 - 32));
  EXPECT_EQ(row[255], 0.5f * 127 * (26 - 32));
}

TEST(DequantizeRow, Q3KSubtractsFourWhereTheMaskBitIsClear) {
  tensor::BlockQ3_K block = {};
  block.d = tensor::HalfFromFloat(1.0f);
  block.scales[0] = 0x05;  // scale 0 low nibble 5
  block.scales[8] = 0x02;  // and high bits 2: 37
  block.qs[0] = 0x03;
  block.qs[1] = 0x03;
  block.hmask[1] = 0x01;
  const std::vector<float> row = Dequantized(DType::kQ3_K, block, 256);
  EXPECT_EQ(row[0], 5.0f * (3 - 4));
  EXPECT_EQ(row[1], 5.0f * 3);
}

TEST(DequantizeRow, Iq4XsLooksUpTheNonLinearValues) {
  tensor::BlockIQ4_XS block = {};
  block.d = tensor::HalfFromFloat(1.0f);
  block.scales_h = 0x0002;   // block 0: high bits 2
  block.scales_l[0] = 0x03;  // low bits 3: 35 - 32 = 3
  block.qs[0] = 0xf0;
  const std::vector<float> row = Dequantized(DType::kIQ4_XS, block, 256);
  EXPECT_EQ(row[0], 3.0f * -127);
  EXPECT_EQ(row[16], 3.0f * 113);
}

TEST(DequantizeRow, Mxfp4IsAPowerOfTwoTimesAFourBitFloat) {
  const auto row_of = [](uint8_t e) {
    tensor::BlockMXFP4 block = {.e = e, .qs = {}};
    for (int i = 0; i < 16; ++i) block.qs[i] = static_cast<uint8_t>(i | (15 - i) << 4);
    return Dequantized(DType::kMXFP4, block, 32);
  };
  const std::vector<float> values = {0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
                                     0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(row_of(127)[i], values[i]);
    EXPECT_EQ(row_of(127)[31 - i], values[i]);
    EXPECT_EQ(row_of(130)[i], 8 * values[i]);
    EXPECT_EQ(row_of(0)[i], 0x1p-127f * values[i]);
    EXPECT_FALSE(values[i] == 0 && std::signbit(row_of(127)[i])) << i;
  }
}

TEST(DequantizeRow, Nvfp4HasAFloatOfEightBitsForEachSixteen) {
  tensor::BlockNVFP4 block = {.d = {0x38, 0x7e, 0x01, 0x80}, .qs = {}};  // 1, 448, 2^-9, 0
  for (int i = 0; i < 32; ++i) block.qs[i] = 0x72;                       // 1 and 6
  block.qs[3] = 0xf9;                                                    // -0.5 and -6
  const std::vector<float> row = Dequantized(DType::kNVFP4, block, 64);
  EXPECT_EQ(row[0], 1.0f);
  EXPECT_EQ(row[3], -0.5f);
  EXPECT_EQ(row[8], 6.0f);
  EXPECT_EQ(row[11], -6.0f);
  EXPECT_EQ(row[16], 448.0f);
  EXPECT_EQ(row[24], 448.0f * 6);
  EXPECT_EQ(row[32], 0x1p-9f);
  EXPECT_EQ(row[48], 0.0f);
}

// Entry 0 of the codebooks of magnitudes has the least of them everywhere, the last entry of
// kIQ2XXSGrid is 8 25 8 8 25 43 43 43 (ggml-common.h: 0x2b2b2b1908081908).

TEST(DequantizeRow, Iq2XxsHasSignsAndScaleInAWord) {
  tensor::BlockIQ2_XXS block = {.d = tensor::HalfFromFloat(8.0f), .qs = {}};
  block.qs[8 + 1] = 255;   // block 1: entry 1
  block.qs[8 + 4] = 0x80;  // signs of entry 1: bit 7 of the word
  block.qs[8 + 7] = 0x30;  // s = 3
  const std::vector<float> row = Dequantized(DType::kIQ2_XXS, block, 256);
  EXPECT_EQ(row[0], 8.0f);
  EXPECT_EQ(row[32], 7.0f * 8);
  EXPECT_EQ(row[40], 7.0f * -8);
  EXPECT_EQ(row[41], 7.0f * 25);
  EXPECT_EQ(row[46], 7.0f * 43);
  EXPECT_EQ(row[47], 7.0f * -43);  // the eighth sign makes their number even
}

TEST(DequantizeRow, Iq2XsHasAScaleForEachHalf) {
  tensor::BlockIQ2_XS block = {.d = tensor::HalfFromFloat(8.0f), .qs = {}, .scales = {0x20}};
  block.qs[3] = 3 << 9;  // both signs stored, so none is added
  const std::vector<float> row = Dequantized(DType::kIQ2_XS, block, 256);
  EXPECT_EQ(row[15], 8.0f);
  EXPECT_EQ(row[16], 5.0f * 8);
  EXPECT_EQ(row[24], 5.0f * -8);
  EXPECT_EQ(row[25], 5.0f * -8);
  EXPECT_EQ(row[31], 5.0f * 8);
}

TEST(DequantizeRow, Iq2SHasItsSignsApart) {
  tensor::BlockIQ2_S block = {};
  block.d = tensor::HalfFromFloat(8.0f);
  block.signs[4] = 0x80;
  block.qh[0] = 0xc0;  // entry 3: index 768
  const std::vector<float> row = Dequantized(DType::kIQ2_S, block, 256);
  EXPECT_EQ(row[39], -8.0f);
  EXPECT_EQ(row[38], 8.0f);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(row[24 + i], static_cast<float>(tensor::kIQ2SGrid[768] >> 8 * i & 255));
  }
}

TEST(DequantizeRow, Iq3HasEntriesOfFour) {
  tensor::BlockIQ3_XXS xxs = {};
  xxs.d = tensor::HalfFromFloat(4.0f);
  xxs.words[3] = 0x10;  // s = 1
  xxs.words[4] = 0x01;  // block 1: the signs of columns 0 and 7
  std::vector<float> row = Dequantized(DType::kIQ3_XXS, xxs, 256);
  EXPECT_EQ(row[0], 3.0f * 4);
  EXPECT_EQ(row[32], -4.0f);
  EXPECT_EQ(row[33], 4.0f);
  EXPECT_EQ(row[39], -4.0f);
  tensor::BlockIQ3_S s = {};
  s.d = tensor::HalfFromFloat(1.0f);
  s.qh[1] = 0x80;      // block 1, entry 7: index 256
  s.signs[7] = 0x10;   // its column 28
  s.scales[0] = 0x20;  // block 1: 5
  row = Dequantized(DType::kIQ3_S, s, 256);
  EXPECT_EQ(row[0], 1.0f);
  EXPECT_EQ(row[32], 5.0f);
  EXPECT_EQ(row[60], -5.0f * static_cast<float>(tensor::kIQ3SGrid[256] & 255));
  EXPECT_EQ(row[61], 5.0f * static_cast<float>(tensor::kIQ3SGrid[256] >> 8 & 255));
}

// Entry 0 of kIQ1Grid is -1 everywhere.
TEST(DequantizeRow, Iq1IsTernaryWithAShift) {
  tensor::BlockIQ1_S s = {};
  s.d = tensor::HalfFromFloat(8.0f);
  s.qh[1] = 0x9000;  // s = 1, shift -1
  std::vector<float> row = Dequantized(DType::kIQ1_S, s, 256);
  EXPECT_EQ(row[0], -7.0f);
  EXPECT_EQ(row[32], 3.0f * -9);
  tensor::BlockIQ1_M m = {};
  m.scales[2] = 0x8008;
  m.scales[3] = 0x4000;  // d = 8: 0x4800
  m.qh[1] = 0x80;        // entry 3: shift -1
  row = Dequantized(DType::kIQ1_M, m, 256);
  EXPECT_EQ(row[16], -7.0f);
  EXPECT_EQ(row[24], -9.0f);
  EXPECT_EQ(row[128], -7.0f);
  EXPECT_EQ(row[144], 3.0f * -7);  // block 4, second half: bits 3-5 of scales[2]
}

TEST(DequantizeRow, TernaryDigitsAreAFractionOf256) {
  tensor::BlockTQ1_0 one = {};
  one.d = tensor::HalfFromFloat(2.0f);
  one.qs[1] = 255;  // 2 2 2 2 2
  one.qs[33] = 86;  // 1 0 0 0 0 is 81 * 256 / 243, rounded up
  one.qh[2] = 29;   // 0 1 0 0
  std::vector<float> row = Dequantized(DType::kTQ1_0, one, 256);
  EXPECT_EQ(row[0], -2.0f);
  for (int n = 0; n < 5; ++n) EXPECT_EQ(row[32 * n + 1], 2.0f);
  EXPECT_EQ(row[161], 0.0f);
  EXPECT_EQ(row[177], -2.0f);
  EXPECT_EQ(row[242], -2.0f);
  EXPECT_EQ(row[246], 0.0f);
  tensor::BlockTQ2_0 two = {};
  two.d = tensor::HalfFromFloat(2.0f);
  two.qs[33] = 0xe4;  // 0 1 2 3
  row = Dequantized(DType::kTQ2_0, two, 256);
  for (int j = 0; j < 4; ++j) EXPECT_EQ(row[128 + 32 * j + 1], 2.0f * static_cast<float>(j - 1));
}

TEST(DequantizeRow, Q1AndQ2AreBitsInOrder) {
  tensor::BlockQ1_0 one = {};
  one.d = tensor::HalfFromFloat(3.0f);
  one.qs[15] = 0x80;
  std::vector<float> row = Dequantized(DType::kQ1_0, one, 128);
  EXPECT_EQ(row[126], -3.0f);
  EXPECT_EQ(row[127], 3.0f);
  tensor::BlockQ2_0 two = {};
  two.d = tensor::HalfFromFloat(3.0f);
  two.qs[15] = 0xe4;  // 0 1 2 3
  row = Dequantized(DType::kQ2_0, two, 64);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(row[60 + i], 3.0f * static_cast<float>(i - 1));
}

// PackPanel and UnpackRow against the oracle.

class EveryDType : public testing::TestWithParam<DType> {};

// Packs `rows` random rows and expects every one back, bit for bit.
void ExpectRoundTrip(DType dtype, int rows, int64_t cols, uint32_t seed) {
  SCOPED_TRACE(testing::Message() << rows << " rows of " << cols << ", seed " << seed);
  std::mt19937 random(seed);
  const DTypeInfo& info = tensor::InfoOf(dtype);
  const std::vector<std::byte> source = RandomBlocks(dtype, rows * cols, random);
  const PanelType type = PanelTypeFor(dtype);
  const int64_t panel_bytes = PanelBytes(type, cols);
  const int64_t row_bytes = cols / info.block_elements * info.block_bytes;
  const int64_t panels = (rows + kPanelRows - 1) / kPanelRows;
  Result<AlignedBuffer> packed = AlignedBuffer::Create(static_cast<uint64_t>(panels * panel_bytes));
  ASSERT_TRUE(packed.ok());
  std::memset(packed->data(), 0xa5, packed->size());
  for (int64_t p = 0; p < panels; ++p) {
    const int count = static_cast<int>(std::min<int64_t>(kPanelRows, rows - p * kPanelRows));
    PackPanel(dtype, std::span(source).subspan(p * kPanelRows * row_bytes, count * row_bytes),
              count, cols, packed->data() + p * panel_bytes);
  }
  const PackedMatrix matrix = {type, rows, cols, packed->data()};
  std::vector<float> expected(cols);
  std::vector<float> actual(cols);
  for (int row = 0; row < rows; ++row) {
    DequantizeRow(dtype, std::span(source).subspan(row * row_bytes, row_bytes), cols,
                  expected.data());
    UnpackRow(matrix, row, actual.data());
    for (int64_t i = 0; i < cols; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
          << "row " << row << " column " << i << ": " << actual[i] << " for " << expected[i];
    }
  }
}

TEST_P(EveryDType, UnpackedRowsAreTheStoredRows) {
  const int64_t block = tensor::InfoOf(GetParam()).block_elements;
  for (const int rows : {1, 2, 15, 16, 17, 48}) {
    for (const int64_t blocks : {1, 2, 3, 7, 45})
      ExpectRoundTrip(GetParam(), rows, blocks * block, 1);
  }
  for (uint32_t seed = 2; seed < 30; ++seed) ExpectRoundTrip(GetParam(), 16, block, seed);
}

TEST(PackPanel, BFloat16HasTheColumnsKAnd16PlusKSideBySide) {
  std::vector<uint16_t> rows(2 * 35);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint16_t>(1 + i);
  std::vector<UnitBF16> units(2);
  std::memset(units.data(), 0xff, sizeof(UnitBF16) * units.size());
  PackPanel(DType::kBF16, std::as_bytes(std::span(rows)), 2, 35,
            reinterpret_cast<std::byte*>(units.data()));
  EXPECT_EQ(units[0].w[0][0][0], 1) << "column 0";
  EXPECT_EQ(units[0].w[0][0][1], 17) << "column 16";
  EXPECT_EQ(units[0].w[15][1][0], 35 + 16) << "column 15 of row 1";
  EXPECT_EQ(units[0].w[15][1][1], 35 + 32) << "column 31 of row 1";
  EXPECT_EQ(units[1].w[2][1][0], 35 + 35) << "the last column";
  EXPECT_EQ(units[1].w[2][1][1], 0) << "column 50, which fills up";
  EXPECT_EQ(units[1].w[3][0][0], 0);
  EXPECT_EQ(units[1].w[0][2][0], 0) << "row 2, which fills up";
}

TEST_P(EveryDType, RowsPastTheLastAreZero) {
  std::mt19937 random(7);
  const int64_t cols = tensor::InfoOf(GetParam()).block_elements;
  const std::vector<std::byte> source = RandomBlocks(GetParam(), cols, random);
  const PanelType type = PanelTypeFor(GetParam());
  Result<AlignedBuffer> panel =
      AlignedBuffer::Create(static_cast<uint64_t>(PanelBytes(type, cols)));
  ASSERT_TRUE(panel.ok());
  std::memset(panel->data(), 0xff, panel->size());
  PackPanel(GetParam(), source, 1, cols, panel->data());
  const PackedMatrix matrix = {type, kPanelRows, cols, panel->data()};
  std::vector<float> out(cols);
  for (int row = 1; row < kPanelRows; ++row) {
    UnpackRow(matrix, row, out.data());
    for (const float value : out) ASSERT_EQ(value, 0.0f) << "row " << row;
  }
}

TEST_P(EveryDType, NaNAndInfiniteScalesArePackedAsTheyAre) {
  const ScaleFields scales = ScaleFieldsOf(GetParam());
  if (scales.count == 0) return;  // a float type: NaN is an element, not a scale
  std::mt19937 random(8);
  const DTypeInfo& info = tensor::InfoOf(GetParam());
  std::vector<std::byte> source = RandomBlocks(GetParam(), info.block_elements, random);
  const uint16_t bits = ScaleBits(GetParam(), std::numeric_limits<float>::infinity());
  StoreScaleBits(GetParam(), bits, source.data());
  Result<AlignedBuffer> panel = AlignedBuffer::Create(
      static_cast<uint64_t>(PanelBytes(PanelTypeFor(GetParam()), info.block_elements)));
  ASSERT_TRUE(panel.ok());
  PackPanel(GetParam(), source, 1, info.block_elements, panel->data());
  EXPECT_EQ(std::memcmp(panel->data(), &bits, scales.bytes), 0);  // every unit starts with d
}

INSTANTIATE_TEST_SUITE_P(Pack, EveryDType, testing::ValuesIn([] {
                           std::vector<DType> all;
                           for (const DTypeInfo& row : tensor::AllDTypes()) {
                             all.push_back(row.dtype);
                           }
                           return all;
                         }()),
                         [](const testing::TestParamInfo<DType>& param) {
                           return std::string(tensor::InfoOf(param.param).name);
                         });

TEST(PanelInfo, TableIsInTheOrderOfTheEnum) {
  for (int i = 0; i < kPanelTypeCount; ++i) {
    EXPECT_EQ(static_cast<int>(InfoOf(static_cast<PanelType>(i)).type), i);
  }
}

TEST(PanelInfo, PanelsStayAligned) {
  // 32-byte alignment of panel p needs the bytes of a panel to be a multiple of 32 for the column
  // counts that occur: multiples of 64 for the types with units of 32.
  for (int i = 0; i < kPanelTypeCount; ++i) {
    EXPECT_EQ(PanelBytes(static_cast<PanelType>(i), 256) % 32, 0) << "panel type " << i;
  }
}

TEST(PanelBytes, MatchesTheBitsPerWeightOfTheFile) {
  EXPECT_EQ(PanelBytes(PanelType::kF32, 1), 64);
  EXPECT_EQ(PanelBytes(PanelType::kQ8, 64), 16 * 2 * 34);
  EXPECT_EQ(PanelBytes(PanelType::kQ4, 64), 16 * 2 * 18);
  EXPECT_EQ(PanelBytes(PanelType::kMX4, 64), 16 * 2 * 17);
  EXPECT_EQ(PanelBytes(PanelType::kQ4K, 512), 16 * 2 * 144);
  EXPECT_EQ(PanelBytes(PanelType::kQ5K, 512), 16 * 2 * 176);
  EXPECT_EQ(PanelBytes(PanelType::kQ6K, 256), 16 * 210 + 32);
  EXPECT_EQ(PanelBytes(PanelType::kQ4K, 0), 0);
  EXPECT_EQ(PanelBytes(PanelType::kBF16, 0), 0);
  EXPECT_EQ(PanelBytes(PanelType::kBF16, 64), 16 * 64 * 2);
  EXPECT_EQ(PanelBytes(PanelType::kBF16, 65), 16 * 96 * 2) << "whole units";
}

// A model must not need more memory than its file, and a token not read more.
TEST(PanelBytes, TypesGrowByAQuarterAtMost) {
  for (const DTypeInfo& info : tensor::AllDTypes()) {
    const double file_bits = 8.0 * info.block_bytes / info.block_elements;
    const double bits = 8.0 * static_cast<double>(PanelBytes(PanelTypeFor(info.dtype), 256)) / 4096;
    EXPECT_LE(bits, (file_bits < 3 ? 1.25 : 1.17) * file_bits) << info.name;
  }
}

TEST(PanelBytes, RefusesAPartOfAUnit) {
  EXPECT_DEATH(PanelBytes(PanelType::kQ4K, 128), "CHECK failed");
  EXPECT_DEATH(PanelBytes(PanelType::kQ8, 33), "CHECK failed");
}

}  // namespace
}  // namespace skald::kernels
