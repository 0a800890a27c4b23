// The measure that other tests rely on: what is allocated is counted, by whomever.

#include "support/cost.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace skald::test {
namespace {

constexpr int64_t kBytes = 1 << 20;

// A compiler may leave out an allocation that nobody looks at.
void Use(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

TEST(CostTest, MemoryIsWhatIsHeldAtATimeAndInAll) {
  const Cost cost = CostOf([] {
    for (int i = 0; i < 3; ++i) Use(std::vector<char>(kBytes).data());
  });
  EXPECT_GE(cost.peak_bytes, kBytes);
  EXPECT_LT(cost.peak_bytes, kBytes * 3 / 2);
  EXPECT_GE(cost.total_bytes, 3 * kBytes);
  EXPECT_LT(cost.total_bytes, 4 * kBytes);
  EXPECT_EQ(cost.allocations, 3);
}

TEST(CostTest, AllocatorsOfTheLanguageAndOfTheLibraryCount) {
  const auto peak = [](auto work) { return CostOf(work).peak_bytes; };
  EXPECT_GE(peak([] { Use(std::make_unique<char[]>(kBytes).get()); }), kBytes);
  EXPECT_GE(peak([] {
              void* memory = std::malloc(kBytes);
              Use(memory);
              memory = std::realloc(memory, 2 * kBytes);
              Use(memory);
              std::free(memory);
            }),
            2 * kBytes);
  EXPECT_GE(peak([] {
              void* memory = std::calloc(2, kBytes);
              Use(memory);
              std::free(memory);
            }),
            2 * kBytes);
  EXPECT_GE(peak([] {
              void* memory = std::aligned_alloc(64, kBytes);
              Use(memory);
              std::free(memory);
            }),
            kBytes);
}

TEST(CostTest, WhatIsFreedIsGivenBack) {
  std::vector<char> kept(kBytes);
  Use(kept.data());
  const Cost cost = CostOf([&] { kept = std::vector<char>(); });
  EXPECT_LE(cost.peak_bytes, 0);
  EXPECT_EQ(CostOf([] {}).peak_bytes, 0);
}

TEST(CostTest, TimeIsThatOfTheWork) {
  const auto work = [](int64_t rounds) {
    return [rounds] {
      for (int64_t i = 0; i < rounds; ++i) asm volatile("" : : "r"(i));
    };
  };
  const double once = LeastCostOf(3, work(3'000'000)).cpu_seconds;
  EXPECT_GT(once, 0);
  EXPECT_GT(LeastCostOf(3, work(24'000'000)).cpu_seconds, 2 * once);
}

}  // namespace
}  // namespace skald::test
