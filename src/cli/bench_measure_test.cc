#include "cli/bench_measure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace skald::cli {
namespace {

TEST(StepsOfPiece, TakeAboutHalfASecond) {
  EXPECT_EQ(StepsOfPiece(0.04), 13);  // 12.5, rounded
  EXPECT_EQ(StepsOfPiece(0.25), 2);
  EXPECT_EQ(StepsOfPiece(0.5), 1);
  EXPECT_EQ(StepsOfPiece(7), 1);
  EXPECT_EQ(StepsOfPiece(0), 1 << 20);
}

TEST(PiecesOf, ADecodeAreConsecutiveAndAddUp) {
  const BenchCase decode = {.decode_tokens = 10, .batch = 3, .depth = 7};
  const std::vector<BenchCase> pieces = PiecesOf(decode, 4);
  ASSERT_EQ(pieces.size(), 3u);
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].depth, 7 + 4 * static_cast<int64_t>(i));
    EXPECT_EQ(pieces[i].decode_tokens, i < 2 ? 4 : 2);
    EXPECT_EQ(pieces[i].batch, 3);
    EXPECT_EQ(pieces[i].prompt_tokens, 0);
  }
  EXPECT_EQ(PiecesOf(decode, 10).size(), 1u);
  EXPECT_EQ(PiecesOf(decode, 11).size(), 1u);
}

TEST(PiecesOf, APromptIsWhole) {
  const std::vector<BenchCase> pieces = PiecesOf({.prompt_tokens = 512, .depth = 3}, 1);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].prompt_tokens, 512);
  EXPECT_EQ(pieces[0].depth, 3);
}

// A machine on a clock of its own, whose memory has another rate at every moment. A step reads 10
// bytes a sequence at 80 % of the rate of the moment; measuring the ceilings takes a second.
class FakeMachine {
 public:
  BenchMeter Meter() {
    return {.ceilings = [this] { return Measure(); },
            .seconds = [this](const BenchCase& piece) { return Compute(piece); },
            .work =
                [](const BenchCase& piece) {
                  return BenchWork{.bytes = 10.0 * static_cast<double>(piece.decode_tokens)};
                }};
  }
  double now = 0;
  std::function<double(double now)> rate = [](double) { return 1.0; };
  std::string log;
  size_t fail_at = std::string::npos;  // the length of the log at which everything fails

 private:
  Result<Ceilings> Measure() {
    if (log.size() == fail_at) return Status(ErrorCode::kCancelled, "interrupted");
    log += 'c';
    const double read = rate(now);
    now += 1;
    return Ceilings{.int8_macs_per_second = 1e9,
                    .bfloat16_macs_per_second = 1e9,
                    .float_macs_per_second = 1e9,
                    .read_bytes_per_second = read,
                    .threads = 2,
                    .isa_name = "fake"};
  }
  Result<double> Compute(const BenchCase& piece) {
    if (log.size() == fail_at) return Status(ErrorCode::kCancelled, "interrupted");
    log += static_cast<char>('0' + piece.decode_tokens);
    const double seconds = 10.0 * static_cast<double>(piece.decode_tokens) / (0.8 * rate(now));
    now += seconds;
    return seconds;
  }
};

TEST(MeasureBeside, MeasuresTheCeilingsAroundEachPiece) {
  FakeMachine machine;
  const Result<Repetition> run = MeasureBeside(machine.Meter(), PiecesOf({.decode_tokens = 7}, 3));
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(machine.log, "c3c3c1c");
  EXPECT_DOUBLE_EQ(run->seconds, 70 / 0.8);
  EXPECT_DOUBLE_EQ(run->bound_seconds, 70);
  EXPECT_DOUBLE_EQ(run->share(), 0.8);
  EXPECT_DOUBLE_EQ(run->ceilings.read_bytes_per_second, 1);
  EXPECT_EQ(run->ceilings.threads, 2);
  EXPECT_EQ(run->ceilings.isa_name, "fake");
}

// The reason for all this: the share of the same kernels is the same on a machine that moves, and
// the best ceiling of the run would say something else.
TEST(MeasureBeside, TheShareDoesNotSwingWithTheMachine) {
  FakeMachine machine;
  // Between 30 and 50, up and down within 64 s.
  machine.rate = [](double now) {
    const double phase = now / 32 - 2 * std::floor(now / 64);
    return 30 + 20 * (phase < 1 ? phase : 2 - phase);
  };
  for (int i = 0; i < 10; ++i) {
    const Result<Repetition> run =
        MeasureBeside(machine.Meter(), PiecesOf({.decode_tokens = 28}, 7));
    ASSERT_TRUE(run.ok());
    EXPECT_NEAR(run->share(), 0.8, 0.03) << i;
  }
}

// The mean of the ceilings is that of the time: a piece that takes three quarters of it counts
// three times.
TEST(MeasureBeside, CeilingsOfPiecesCountByTheirSeconds) {
  FakeMachine machine;
  machine.rate = [&machine](double) { return machine.log.size() < 4 ? 1.0 : 3.0; };
  const Result<Repetition> run = MeasureBeside(machine.Meter(), PiecesOf({.decode_tokens = 2}, 1));
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(machine.log, "c1c1c");
  const double first = 10 / 0.8;  // between ceilings of 1 and 1
  const double second = 10 / (0.8 * 3);
  EXPECT_DOUBLE_EQ(run->seconds, first + second);
  EXPECT_DOUBLE_EQ(run->ceilings.read_bytes_per_second,
                   (first * 1 + second * 2) / (first + second));
  EXPECT_DOUBLE_EQ(run->bound_seconds, 10 + 10.0 / 2);
}

TEST(MeasureBeside, EndsWithWhateverFailsFirst) {
  for (const size_t fail_at : {0u, 1u, 2u, 3u, 4u}) {
    FakeMachine machine;
    machine.fail_at = fail_at;
    const Result<Repetition> run =
        MeasureBeside(machine.Meter(), PiecesOf({.decode_tokens = 2}, 1));
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.status().code(), ErrorCode::kCancelled);
    EXPECT_EQ(machine.log.size(), fail_at);
  }
}

}  // namespace
}  // namespace skald::cli
