#include "cli/format.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace skald::cli {
namespace {

TEST(Bytes, ChangesTheUnitWhereTheRoundedNumberWould) {
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(1024), "1.0 KiB");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(Bytes(1048524), "1023.9 KiB");
  EXPECT_EQ(Bytes(1048575), "1.0 MiB");
  EXPECT_EQ(Bytes(int64_t{5} << 40), "5.0 TiB");
  EXPECT_EQ(Bytes(int64_t{5000} << 40), "5000.0 TiB");
}

TEST(Count, UsesThousands) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1000), "1.0 K");
  EXPECT_EQ(Count(999999), "1.0 M");
  EXPECT_EQ(Count(7241732096), "7.2 B");
}

TEST(Rate, HasAboutThreeDigits) {
  EXPECT_EQ(Rate(310, 1), "310");
  EXPECT_EQ(Rate(123, 10), "12.3");
  EXPECT_EQ(Rate(52, 100), "0.52");
  EXPECT_EQ(Rate(999, 10), "99.9");
  EXPECT_EQ(Rate(12345, 1), "12345");
}

TEST(Rate, IsAbsentWithoutAMeasurement) {
  EXPECT_EQ(Rate(0, 1), "-");
  EXPECT_EQ(Rate(-1, 1), "-");
  EXPECT_EQ(Rate(5, 0), "-");
}

TEST(Duration, ChoosesTheUnit) {
  EXPECT_EQ(Duration(0), "0 ms");
  EXPECT_EQ(Duration(950e-6), "950 us");
  EXPECT_EQ(Duration(0.041), "41 ms");
  EXPECT_EQ(Duration(0.99949), "999 ms");
  EXPECT_EQ(Duration(0.9999), "1.00 s");
  EXPECT_EQ(Duration(12.34), "12.3 s");
  EXPECT_EQ(Duration(1234), "1234 s");
}

TEST(StatsLine, IsTheDocumentedLine) {
  EXPECT_EQ(StatsLine({.prompt_tokens = 5,
                       .completion_tokens = 201,
                       .prefill_seconds = 0.041,
                       .decode_seconds = 0.5,
                       .finish_reason = "length",
                       .seed = 123}),
            "prompt 5 tokens, 122 tok/s | decode 201 tokens, 400 tok/s | TTFT 41 ms | "
            "stop: length | seed 123");
}

TEST(StatsLine, HasNoDecodeRateForLessThanTwoTokens) {
  for (const int64_t tokens : {0, 1}) {
    const std::string line = StatsLine({.prompt_tokens = 1,
                                        .completion_tokens = tokens,
                                        .prefill_seconds = 1,
                                        .decode_seconds = 1,
                                        .finish_reason = "stop",
                                        .seed = 0});
    EXPECT_NE(line.find(" tokens, - tok/s | TTFT"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace skald::cli
