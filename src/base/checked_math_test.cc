#include "base/checked_math.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace skald {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(CheckedU64, AddIsExactUpToTheMaximumAndInvalidBeyond) {
  EXPECT_EQ(CheckedU64(kMax - 1).Add(1).value(), kMax);
  EXPECT_EQ(CheckedU64(kMax).Add(0).value(), kMax);
  EXPECT_EQ(CheckedU64(kMax).Add(1).value(), std::nullopt);
}

TEST(CheckedU64, MulIsExactUpToTheMaximumAndInvalidBeyond) {
  EXPECT_EQ(CheckedU64(uint64_t{1} << 32).Mul((uint64_t{1} << 32) - 1).value(),
            ((uint64_t{1} << 32) - 1) << 32);
  EXPECT_EQ(CheckedU64(uint64_t{1} << 32).Mul(uint64_t{1} << 32).value(), std::nullopt);
  EXPECT_EQ(CheckedU64(kMax).Mul(0).value(), 0u);
}

TEST(CheckedU64, InvalidStaysInvalid) {
  const CheckedU64 wrapped = CheckedU64(kMax).Add(1);
  EXPECT_FALSE(wrapped.Mul(0).exact());
  EXPECT_FALSE(wrapped.Add(0).exact());
  EXPECT_FALSE(CheckedU64(0).Mul(wrapped).exact());
  EXPECT_FALSE(wrapped.DivExact(1).exact());
  EXPECT_FALSE(wrapped.RoundUp(32).exact());
  EXPECT_FALSE(wrapped.AtMost(kMax));
}

TEST(CheckedU64, DivExactRefusesRemaindersAndZero) {
  EXPECT_EQ(CheckedU64(64).DivExact(32).value(), 2u);
  EXPECT_EQ(CheckedU64(65).DivExact(32).value(), std::nullopt);
  EXPECT_EQ(CheckedU64(64).DivExact(0).value(), std::nullopt);
  EXPECT_EQ(CheckedU64(0).DivExact(7).value(), 0u);
}

TEST(CheckedU64, RoundUpAtEachSideOfAMultipleAndAtTheEnd) {
  EXPECT_EQ(CheckedU64(0).RoundUp(32).value(), 0u);
  EXPECT_EQ(CheckedU64(1).RoundUp(32).value(), 32u);
  EXPECT_EQ(CheckedU64(32).RoundUp(32).value(), 32u);
  EXPECT_EQ(CheckedU64(33).RoundUp(32).value(), 64u);
  EXPECT_EQ(CheckedU64(kMax - 31).RoundUp(32).value(), kMax - 31);
  EXPECT_EQ(CheckedU64(kMax - 30).RoundUp(32).value(), std::nullopt);
}

TEST(CheckedU64, AtMostIncludesTheBound) {
  EXPECT_TRUE(CheckedU64(9).AtMost(9));
  EXPECT_FALSE(CheckedU64(10).AtMost(9));
}

TEST(Narrow, KeepsWhatFitsAndRefusesTheNextValue) {
  EXPECT_EQ(Narrow<uint8_t>(255), 255);
  EXPECT_EQ(Narrow<uint8_t>(256), std::nullopt);
  EXPECT_EQ(Narrow<uint8_t>(-1), std::nullopt);
  EXPECT_EQ(Narrow<int32_t>(uint32_t{0x7fffffff}), 0x7fffffff);
  EXPECT_EQ(Narrow<int32_t>(uint32_t{0x80000000}), std::nullopt);
  EXPECT_EQ(Narrow<uint64_t>(int64_t{-1}), std::nullopt);
  EXPECT_EQ(Narrow<int64_t>(kMax), std::nullopt);
  EXPECT_EQ(Narrow<int8_t>(int64_t{-128}), -128);
  EXPECT_EQ(Narrow<int8_t>(int64_t{-129}), std::nullopt);
}

TEST(DivCeil, RoundsUpWithoutOverflow) {
  EXPECT_EQ(DivCeil(0, 4), 0);
  EXPECT_EQ(DivCeil(1, 4), 1);
  EXPECT_EQ(DivCeil(4, 4), 1);
  EXPECT_EQ(DivCeil(5, 4), 2);
  EXPECT_EQ(DivCeil(kMax, uint64_t{2}), uint64_t{1} << 63);
}

TEST(RoundUp, GivesTheNextMultiple) {
  EXPECT_EQ(RoundUp(0, 3), 0);
  EXPECT_EQ(RoundUp(1, 3), 3);
  EXPECT_EQ(RoundUp(3, 3), 3);
}

}  // namespace
}  // namespace skald
