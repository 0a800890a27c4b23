#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "kernels/isa/tested_isas.h"

namespace skald::kernels {
namespace {

class KernelTableTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, KernelTableTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(KernelTableTest, EveryOperationHasAFunction) {
  const KernelTable table = TableFor(GetParam());
  EXPECT_EQ(table.isa_name, GetParam().name);
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
  EXPECT_NE(table.swiglu_limited, nullptr);
  EXPECT_NE(table.relu_squared, nullptr);
  EXPECT_NE(table.add_scaled, nullptr);
  EXPECT_NE(table.mass, nullptr);
  EXPECT_NE(table.uniform, nullptr);
  EXPECT_NE(table.peak.dot, nullptr);
  EXPECT_NE(table.peak.fma, nullptr);
  EXPECT_NE(table.peak.read, nullptr);
}

TEST_P(KernelTableTest, AFasterLevelHasItsOwnAttention) {
  if (GetParam() == ScalarIsa()) return;  // the slowest level: nothing to compare with
  EXPECT_NE(TableFor(GetParam()).attention, TableFor(ScalarIsa()).attention);
}

TEST(Isa, IsSupportedIfTheSystemListsWhatItNeeds) {
  for (const Isa& isa : AllIsas()) EXPECT_EQ(isa.supported(), SystemHas(isa)) << isa.name;
}

TEST(Isa, TheBestIsTheLastThatIsSupported) {
  const std::vector<Isa> all = AllIsas();
  const Isa best = DetectIsa();
  EXPECT_TRUE(best.supported());
  const auto at = std::find(all.begin(), all.end(), best);
  ASSERT_NE(at, all.end());
  for (auto later = at + 1; later != all.end(); ++later) EXPECT_FALSE(later->supported());
}

TEST(Isa, TheSpecificationIsTheFirstAndRunsEverywhere) {
  EXPECT_EQ(AllIsas().front(), ScalarIsa());
  EXPECT_EQ(ScalarIsa().name, "scalar");
  EXPECT_TRUE(ScalarIsa().supported());
}

TEST(Isa, NamesRoundTrip) {
  std::set<std::string_view> names;
  for (const Isa& isa : AllIsas()) {
    EXPECT_EQ(FindIsa(isa.name), isa);
    names.insert(isa.name);
  }
  EXPECT_EQ(names.size(), AllIsas().size());
  EXPECT_FALSE(FindIsa("").has_value());
  EXPECT_FALSE(FindIsa("AVX2").has_value());
  EXPECT_FALSE(FindIsa("avx2 ").has_value());
}

}  // namespace
}  // namespace skald::kernels
