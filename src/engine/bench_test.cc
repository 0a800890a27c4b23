#include "skald/bench.h"

#include <gtest/gtest.h>

namespace skald {
namespace {

constexpr Ceilings kMachine = {.int8_macs_per_second = 100,
                               .float_macs_per_second = 10,
                               .read_bytes_per_second = 1000,
                               .threads = 1,
                               .isa_name = "scalar"};

TEST(BoundOf, IsTheSlowerOfArithmeticAndMemory) {
  const Bound int8 = BoundOf({.int8_macs = 200, .float_macs = 0, .bytes = 1000}, kMachine);
  EXPECT_EQ(int8.seconds, 2);
  EXPECT_EQ(int8.resource, Resource::kInt8);
  const Bound memory = BoundOf({.int8_macs = 200, .float_macs = 0, .bytes = 3000}, kMachine);
  EXPECT_EQ(memory.seconds, 3);
  EXPECT_EQ(memory.resource, Resource::kMemory);
  // Both kinds of arithmetic take their turns: 1 s + 2 s.
  const Bound both = BoundOf({.int8_macs = 100, .float_macs = 20, .bytes = 2000}, kMachine);
  EXPECT_EQ(both.seconds, 3);
  EXPECT_EQ(both.resource, Resource::kFloat);
}

TEST(BestOf, TakesEachFigureFromTheBetterMeasurement) {
  Ceilings other = kMachine;
  other.int8_macs_per_second = 50;
  other.read_bytes_per_second = 2000;
  const Ceilings best = BestOf(kMachine, other);
  EXPECT_EQ(best.int8_macs_per_second, 100);
  EXPECT_EQ(best.float_macs_per_second, 10);
  EXPECT_EQ(best.read_bytes_per_second, 2000);
  EXPECT_EQ(best.threads, 1);
}

TEST(MeasureCeilings, RefusesImpossibleThreads) {
  EXPECT_EQ(MeasureCeilings(-1, InstructionSet::kBest).status().code(),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace skald
