#include "kernels/pack/finite.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "kernels/test_data.h"
#include "tensor/half.h"

namespace skald::kernels {
namespace {

using tensor::DType;

class FiniteOfEveryDType : public testing::TestWithParam<DType> {
 protected:
  static constexpr int64_t kBlocks = 7;

  // Random blocks, all of them finite.
  std::vector<std::byte> Blocks() const {
    std::mt19937 random(3);
    std::vector<std::byte> bytes =
        RandomBlocks(GetParam(), kBlocks * tensor::InfoOf(GetParam()).block_elements, random);
    if (GetParam() == DType::kF16) {
      for (size_t at = 0; at < bytes.size(); at += 2) bytes[at + 1] &= std::byte{0x3f};
    }
    return bytes;
  }
};

TEST_P(FiniteOfEveryDType, OrdinaryBlocksAreFinite) {
  EXPECT_TRUE(AllFinite(GetParam(), Blocks()));
  EXPECT_TRUE(AllFinite(GetParam(), {}));
}

TEST_P(FiniteOfEveryDType, OneBadScaleOfAnyBlockIsFound) {
  const ScaleFields scales = ScaleFieldsOf(GetParam());
  const size_t block_bytes = tensor::InfoOf(GetParam()).block_bytes;
  const std::vector<uint16_t> bad_bits =
      GetParam() == DType::kNVFP4 ? std::vector<uint16_t>{0x7f, 0xff}
      : scales.bytes == 1         ? std::vector<uint16_t>{0xff}
                                  : std::vector<uint16_t>{0x7c00, 0xfc00, 0x7c01, 0xffff};
  for (const uint16_t bad : bad_bits) {
    for (size_t block = 0; block < kBlocks; ++block) {
      for (int field = 0; field < scales.count; ++field) {
        std::vector<std::byte> bytes = Blocks();
        StoreScaleBits(GetParam(), bad, bytes.data() + block * block_bytes, field);
        EXPECT_FALSE(AllFinite(GetParam(), bytes)) << "block " << block << " field " << field;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Finite, FiniteOfEveryDType, testing::ValuesIn([] {
                           std::vector<DType> all;
                           for (const tensor::DTypeInfo& row : tensor::AllDTypes()) {
                             all.push_back(row.dtype);
                           }
                           return all;
                         }()),
                         [](const testing::TestParamInfo<DType>& param) {
                           return std::string(tensor::InfoOf(param.param).name);
                         });

// `bits` after six and before two ordinary elements.
template <typename Bits>
bool FiniteWith(DType dtype, Bits bits) {
  std::vector<Bits> elements(9, 1);
  elements[6] = bits;
  return AllFinite(dtype, std::as_bytes(std::span<const Bits>(elements)));
}

TEST(AllFinite, KnowsTheLargestExponentOfMXFP4FromNaN) {
  std::vector<std::byte> block(17, std::byte{0xff});
  EXPECT_FALSE(AllFinite(DType::kMXFP4, block));
  block[0] = std::byte{254};
  EXPECT_TRUE(AllFinite(DType::kMXFP4, block));
}

TEST(AllFinite, KnowsTheLargestNumberFromInfinity) {
  EXPECT_TRUE(FiniteWith<uint32_t>(DType::kF32, 0xff7fffff));
  EXPECT_FALSE(FiniteWith<uint32_t>(DType::kF32, 0xff800000));
  EXPECT_FALSE(FiniteWith<uint32_t>(DType::kF32, 0x7fc00000));
  EXPECT_TRUE(FiniteWith<uint16_t>(DType::kF16, 0xfbff));
  EXPECT_FALSE(FiniteWith<uint16_t>(DType::kF16, 0xfc00));
  EXPECT_FALSE(FiniteWith<uint16_t>(DType::kF16, 0x7c01));
  EXPECT_TRUE(FiniteWith<uint16_t>(DType::kBF16, 0xff7f));
  EXPECT_FALSE(FiniteWith<uint16_t>(DType::kBF16, 0xff80));
  EXPECT_FALSE(FiniteWith<uint16_t>(DType::kBF16, 0x7f81));
}

}  // namespace
}  // namespace skald::kernels
