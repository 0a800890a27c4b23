#include "base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace skald {
namespace {

using Words4 = std::array<uint32_t, 4>;

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, TakesTheUpper53BitsOfEachHalfOfTheBlock) {
  // First known answer above: counter and key all zero.
  const std::array<double, 2> pair = UniformPair({.seed = 0, .sequence = 0, .position = 0}, 0);
  EXPECT_EQ(pair[0], static_cast<double>(0x6627e8d5e169c58dULL >> 11) * 0x1p-53);
  EXPECT_EQ(pair[1], static_cast<double>(0xbc57ac4c9b00dbd8ULL >> 11) * 0x1p-53);
  EXPECT_EQ(UniformDouble({}, 0), pair[0]);
  EXPECT_EQ(UniformDouble({}, 1), pair[1]);
  EXPECT_EQ(UniformDouble({}, 2), UniformPair({}, 1)[0]);
  EXPECT_EQ(UniformDouble({}, 0xffffffff), UniformPair({}, 0x7fffffff)[1]);
}

TEST(Uniform, PutsEveryPartOfTheKeyIntoItsOwnPlace) {
  // Third known answer: pair, sequence and position are the counter, seed is the key.
  const std::array<double, 2> pair = UniformPair(
      {.seed = 0x299f31d0a4093822, .sequence = 0x85a308d3, .position = 0x0370734413198a2e},
      0x243f6a88);
  EXPECT_EQ(pair[0], static_cast<double>(0xd16cfe0994fdccebULL >> 11) * 0x1p-53);
  EXPECT_EQ(pair[1], static_cast<double>(0x5001e42024126ea1ULL >> 11) * 0x1p-53);
}

TEST(Uniform, DiffersWhenAnyBitOfTheKeyDiffers) {
  std::set<double> seen = {UniformDouble({}, 0)};
  size_t count = 1;
  for (int bit = 0; bit < 64; ++bit) {
    seen.insert(UniformDouble({.seed = uint64_t{1} << bit}, 0));
    seen.insert(UniformDouble({.position = uint64_t{1} << bit}, 0));
    count += 2;
    if (bit < 32) {
      seen.insert(UniformDouble({.sequence = uint32_t{1} << bit}, 0));
      seen.insert(UniformDouble({}, uint32_t{1} << bit));
      count += 2;
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(Uniform, FillsTheUnitIntervalEvenly) {
  // Neighbouring positions and draws are the counters that sampling uses. 256 cells, chi-square
  // with 255 degrees of freedom: mean 255, standard deviation 22.6; the bound is 6 of those.
  constexpr int kCells = 256;
  constexpr int kDraws = 256 * 1000;
  std::vector<int> cells(kCells);
  for (int i = 0; i < kDraws; ++i) {
    const RandomKey key = {.seed = 42, .position = static_cast<uint64_t>(i / 4)};
    const double u = UniformDouble(key, static_cast<uint32_t>(i % 4));
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++cells[static_cast<size_t>(u * kCells)];
  }
  double chi_square = 0;
  for (const int cell : cells) chi_square += (cell - 1000.0) * (cell - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 255 + 6 * std::sqrt(2.0 * 255));
  EXPECT_GT(chi_square, 255 - 6 * std::sqrt(2.0 * 255));  // too even is not random either
}

}  // namespace
}  // namespace skald
