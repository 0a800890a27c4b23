#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include "kernels/isa/tested_isas.h"

namespace skald::kernels {
namespace {

class KernelTableTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, KernelTableTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(KernelTableTest, EveryOperationHasAFunction) {
  const KernelTable table = TableFor(GetParam());
  EXPECT_EQ(table.isa, GetParam());
  for (const QuantizeFn quantize : table.quantize) EXPECT_NE(quantize, nullptr);
  for (const MatmulFn matmul : table.matmul) EXPECT_NE(matmul, nullptr);
  EXPECT_NE(table.rms_norm, nullptr);
  EXPECT_NE(table.layer_norm, nullptr);
  EXPECT_NE(table.rope, nullptr);
  EXPECT_NE(table.swiglu, nullptr);
  EXPECT_NE(table.geglu, nullptr);
  EXPECT_NE(table.swiglu_clamped, nullptr);
  EXPECT_NE(table.gelu, nullptr);
  EXPECT_NE(table.gelu_erf, nullptr);
  EXPECT_NE(table.geglu_erf, nullptr);
  EXPECT_NE(table.soft_cap, nullptr);
  EXPECT_NE(table.add, nullptr);
  EXPECT_NE(table.attention, nullptr);
  EXPECT_NE(table.append_kv, nullptr);
  EXPECT_NE(table.conv, nullptr);
  EXPECT_NE(table.delta, nullptr);
  EXPECT_NE(table.l2_norm, nullptr);
  EXPECT_NE(table.scan, nullptr);
  EXPECT_NE(table.glu, nullptr);
}

TEST_P(KernelTableTest, AFasterLevelHasItsOwnAttention) {
  if (GetParam() == Isa::kScalar) return;  // the slowest level: nothing to compare with
  EXPECT_NE(TableFor(GetParam()).attention, TableFor(Isa::kScalar).attention);
}

TEST(Isa, IsTheBestThatTheSystemLists) { EXPECT_EQ(IsaName(DetectIsa()), IsaName(IsaOfSystem())); }

TEST(Isa, NamesRoundTrip) {
  for (const Isa isa : kAllIsas) {
    EXPECT_EQ(ParseIsa(IsaName(isa)), isa);
  }
  EXPECT_FALSE(ParseIsa("").has_value());
  EXPECT_FALSE(ParseIsa("AVX2").has_value());
  EXPECT_FALSE(ParseIsa("avx2 ").has_value());
}

}  // namespace
}  // namespace skald::kernels
