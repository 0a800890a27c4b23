#include "kernels/matmul/ways.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/isa/isa.h"
#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "kernels/matmul/variants.h"

namespace skald::kernels {
namespace {

constexpr PanelType kType = PanelType::kQ4K;

void AtOnce(const MatmulArgs&) {}

// Sleeps rather than computes: no machine, however full, wakes it before its time, and none keeps
// the other from being at its end before that in every round.
void Late(const MatmulArgs&) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

TEST(MatmulWays, TheFastestIsChosenWhereverItStands) {
  const MatmulWay fast = {"fast", AtOnce};
  const MatmulWay slow = {"slow", Late};
  EXPECT_EQ(FastestOf(kType, std::array{fast, slow}).name, "fast");
  EXPECT_EQ(FastestOf(kType, std::array{slow, slow, fast}).name, "fast");
}

void MustNotBeCalled(const MatmulArgs&) { ADD_FAILURE() << "one way needs no trial"; }

TEST(MatmulWays, TheOnlyOneIsNotTried) {
  EXPECT_EQ(FastestOf(kType, std::array{MatmulWay{"only", MustNotBeCalled}}).name, "only");
}

// The one set with several ways, where the CPU has it: elsewhere these tests do not exist, as those
// of every other kernel, and TestedIsas says so.
std::vector<Isa> IsasWithWays() {
  std::vector<Isa> isas = TestedIsas();
  std::erase_if(isas, [](const Isa& isa) { return isa.name != "avx512"; });
  return isas;
}

class Avx512Ways : public testing::TestWithParam<Isa> {};

// Who asks twice gets the same function: tables of one process do not differ.
TEST_P(Avx512Ways, TheChoiceOfAProcessStays) {
  for (int i = 0; i < kPanelTypeCount; ++i) {
    const auto type = static_cast<PanelType>(i);
    EXPECT_EQ(avx512::MatmulFor(type), avx512::MatmulFor(type));
  }
}

TEST_P(Avx512Ways, TheTableSaysWhatWasChosen) {
  const KernelTable table = TableFor(GetParam());
  bool found = false;
  for (const MatmulWay& way : avx512::WaysOf(kType)) {
    if (table.MatmulOf(kType) != way.matmul) continue;
    EXPECT_EQ(table.MatmulWayOf(kType), way.name);
    found = true;
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(table.MatmulWayOf(PanelType::kF32), "");
}

void LateInTwoSteps(const TileArgs& args) {
  if (args.ahead == kTwoSteps) Late({});
}
void LateByHardware(const TileArgs& args) {
  if (args.ahead == kByHardware) Late({});
}

TEST_P(Avx512Ways, TheFasterReadAheadIsChosen) {
  const std::array tried = {kTwoSteps, kByHardware};
  EXPECT_EQ(avx512::FastestReadAhead(kType, LateInTwoSteps, tried), kByHardware);
  EXPECT_EQ(avx512::FastestReadAhead(kType, LateByHardware, tried), kTwoSteps);
}

// Tiles of more tokens take longer for a line than memory does; few read as this CPU likes best.
TEST_P(Avx512Ways, OnlyFewTokensReadAsTimed) {
  EXPECT_EQ(avx512::ReadAheadFor<PanelType::kQ8>(3), kTwoSteps);
  EXPECT_EQ(avx512::ReadAheadFor<PanelType::kQ4K>(2), kTwoSteps);
  const ReadAhead one = avx512::ReadAheadFor<PanelType::kQ4K>(1);
  EXPECT_TRUE(one == kTwoSteps || one == kOneStep);
  EXPECT_EQ(avx512::ReadAheadFor<PanelType::kQ6K>(1), one);
  const ReadAhead two = avx512::ReadAheadFor<PanelType::kQ8>(2);
  EXPECT_TRUE(two == kTwoSteps || two == kByHardware);
  EXPECT_EQ(avx512::ReadAheadFor<PanelType::kBF16>(1), two);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Avx512Ways);  // where the CPU lacks it
INSTANTIATE_TEST_SUITE_P(Isas, Avx512Ways, testing::ValuesIn(IsasWithWays()), IsaTestName);

}  // namespace
}  // namespace skald::kernels
