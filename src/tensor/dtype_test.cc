#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace skald::tensor {
namespace {

TEST(DType, TableIsInTheOrderOfTheEnum) {
  size_t i = 0;
  for (const DTypeInfo& info : AllDTypes()) {
    EXPECT_EQ(static_cast<size_t>(info.dtype), i) << info.name;
    EXPECT_EQ(&InfoOf(info.dtype), &info);
    ++i;
  }
  EXPECT_EQ(i, static_cast<size_t>(DType::kNVFP4) + 1);
}

TEST(DType, EveryTypeIsFoundByItsFileNumberAndNoOther) {
  std::set<uint32_t> ids;
  for (const DTypeInfo& info : AllDTypes()) {
    EXPECT_EQ(DTypeFromGguf(info.gguf_id), info.dtype);
    ids.insert(info.gguf_id);
  }
  EXPECT_EQ(ids.size(), AllDTypes().size());
  for (uint32_t id = 0; id < 300; ++id) {
    EXPECT_EQ(DTypeFromGguf(id).has_value(), ids.contains(id)) << id;
  }
  EXPECT_FALSE(DTypeFromGguf(UINT32_MAX).has_value());
}

// Bits per weight as the tools that make these files print them.
TEST(DType, BlocksHaveThePublishedDensity) {
  const auto bits = [](DType dtype) {
    return 8.0 * InfoOf(dtype).block_bytes / InfoOf(dtype).block_elements;
  };
  EXPECT_EQ(bits(DType::kF32), 32);
  EXPECT_EQ(bits(DType::kF16), 16);
  EXPECT_EQ(bits(DType::kBF16), 16);
  EXPECT_EQ(bits(DType::kQ8_0), 8.5);
  EXPECT_EQ(bits(DType::kQ4_0), 4.5);
  EXPECT_EQ(bits(DType::kQ4_1), 5);
  EXPECT_EQ(bits(DType::kQ5_0), 5.5);
  EXPECT_EQ(bits(DType::kQ5_1), 6);
  EXPECT_EQ(bits(DType::kQ2_K), 2.625);
  EXPECT_EQ(bits(DType::kQ3_K), 3.4375);
  EXPECT_EQ(bits(DType::kQ4_K), 4.5);
  EXPECT_EQ(bits(DType::kQ5_K), 5.5);
  EXPECT_EQ(bits(DType::kQ6_K), 6.5625);
  EXPECT_EQ(bits(DType::kIQ4_NL), 4.5);
  EXPECT_EQ(bits(DType::kIQ4_XS), 4.25);
  EXPECT_EQ(bits(DType::kMXFP4), 4.25);
  EXPECT_EQ(bits(DType::kIQ2_XXS), 2.0625);
  EXPECT_EQ(bits(DType::kIQ2_XS), 2.3125);
  EXPECT_EQ(bits(DType::kIQ2_S), 2.5625);
  EXPECT_EQ(bits(DType::kIQ3_XXS), 3.0625);
  EXPECT_EQ(bits(DType::kIQ3_S), 3.4375);
  EXPECT_EQ(bits(DType::kIQ1_S), 1.5625);
  EXPECT_EQ(bits(DType::kIQ1_M), 1.75);
  EXPECT_EQ(bits(DType::kTQ1_0), 1.6875);
  EXPECT_EQ(bits(DType::kTQ2_0), 2.0625);
  EXPECT_EQ(bits(DType::kQ1_0), 1.125);
  EXPECT_EQ(bits(DType::kQ2_0), 2.25);
  EXPECT_EQ(bits(DType::kNVFP4), 4.5);
}

}  // namespace
}  // namespace skald::tensor
