#include "skald/bench.h"

#include <gtest/gtest.h>

namespace skald {
namespace {

constexpr Ceilings kMachine = {.int8_macs_per_second = 100,
                               .bfloat16_macs_per_second = 40,
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
  const Bound bfloat16 = BoundOf({.int8_macs = 100, .bfloat16_macs = 80, .bytes = 2000}, kMachine);
  EXPECT_EQ(bfloat16.seconds, 3);
  EXPECT_EQ(bfloat16.resource, Resource::kBFloat16);
}

TEST(MeanOf, IsTheMeanOfEachFigure) {
  Ceilings other = kMachine;
  other.int8_macs_per_second = 50;
  other.bfloat16_macs_per_second = 60;
  other.float_macs_per_second = 30;
  other.read_bytes_per_second = 2000;
  const Ceilings mean = MeanOf(kMachine, other);
  EXPECT_EQ(mean.int8_macs_per_second, 75);
  EXPECT_EQ(mean.bfloat16_macs_per_second, 50);
  EXPECT_EQ(mean.float_macs_per_second, 20);
  EXPECT_EQ(mean.read_bytes_per_second, 1500);
  EXPECT_EQ(mean.threads, 1);
  EXPECT_EQ(mean.isa_name, "scalar");
}

TEST(CeilingMeter, RefusesImpossibleThreads) {
  EXPECT_EQ(CeilingMeter::Create(-1, "best").status().code(), ErrorCode::kInvalidArgument);
}

TEST(CeilingMeter, SaysWhatItMeasuredAsOftenAsItIsAsked) {
  Result<CeilingMeter> meter = CeilingMeter::Create(2, "scalar");
  ASSERT_TRUE(meter.ok()) << meter.status().message();
  for (int time = 0; time < 2; ++time) {
    const Ceilings ceilings = meter->Measure();
    EXPECT_EQ(ceilings.threads, 2);
    EXPECT_EQ(ceilings.isa_name, "scalar");
    EXPECT_GT(ceilings.int8_macs_per_second, 1e6);
    EXPECT_GT(ceilings.float_macs_per_second, 1e6);
    EXPECT_GT(ceilings.read_bytes_per_second, 1e6);
  }
}

}  // namespace
}  // namespace skald
