#include "kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "kernels/test_data.h"

namespace skald::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> RandomFloats(int64_t n, std::mt19937& random) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = RandomFloat(random);
  return values;
}

// Operands of one convolution; strides are wider than the channels.
struct Operands {
  Operands(int64_t rows, int64_t channels, int64_t taps, std::mt19937& random)
      : x(RandomFloats(rows * (channels + 3), random)),
        x_gate(RandomFloats(rows * (channels + 1), random)),
        y_gate(RandomFloats(rows * (channels + 2), random)),
        weights(RandomFloats(channels * taps, random)),
        bias(RandomFloats(channels, random)),
        state(RandomFloats((taps - 1) * (channels + 5), random)),
        y(static_cast<size_t>(rows * (channels + 4)), -12345.0f),
        args({.x = x.data(),
              .x_stride = channels + 3,
              .x_gate = x_gate.data(),
              .x_gate_stride = channels + 1,
              .y_gate = y_gate.data(),
              .y_gate_stride = channels + 2,
              .weights = weights.data(),
              .state = state.data(),
              .state_stride = channels + 5,
              .y = y.data(),
              .y_stride = channels + 4,
              .rows = rows,
              .channels = channels,
              .taps = taps}) {}
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  std::vector<float> x, x_gate, y_gate, weights, bias, state, y;
  ConvArgs args;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class ConvTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, ConvTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(ConvTest, GivesTheBitsOfTheSpecification) {
  for (const int64_t channels : {1, 15, 16, 17, 40}) {
    for (int64_t taps = 1; taps <= kMaxConvTaps; ++taps) {
      for (int variant = 0; variant < 8; ++variant) {
        SCOPED_TRACE(testing::Message() << channels << " x " << taps << ", " << variant);
        std::mt19937 expected_random(5);
        std::mt19937 random(5);
        Operands expected(6, channels, taps, expected_random);
        Operands found(6, channels, taps, random);
        for (Operands* each : {&expected, &found}) {
          if ((variant & 1) != 0) each->args.x_gate = nullptr;
          if ((variant & 2) != 0) each->args.y_gate = nullptr;
          if ((variant & 4) != 0) each->args.activation = ConvActivation::kSilu;
          each->args.begins = variant % 3 == 0;
          if (variant >= 3) each->args.bias = each->bias.data();
        }
        TableFor(ScalarIsa()).conv(expected.args);
        TableFor(GetParam()).conv(found.args);
        ASSERT_TRUE(SameBits(expected.y, found.y)) << "or written past the end";
        ASSERT_TRUE(SameBits(expected.state, found.state));
      }
    }
  }
}

// Tap for tap, by the definition in double precision.
TEST_P(ConvTest, TheLastTapIsTheRowItself) {
  std::mt19937 random(6);
  Operands run(5, 3, 4, random);
  const std::vector<float> before = run.state;
  run.args.x_gate = run.args.y_gate = nullptr;
  run.args.bias = run.bias.data();
  TableFor(GetParam()).conv(run.args);
  const auto row = [&](int64_t t, int64_t c) {
    return t < 0 ? before[static_cast<size_t>((t + 3) * 8 + c)]
                 : run.x[static_cast<size_t>(t * 6 + c)];
  };
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t c = 0; c < 3; ++c) {
      double sum = run.bias[static_cast<size_t>(c)];
      for (int64_t j = 0; j < 4; ++j) {
        sum += double{run.weights[static_cast<size_t>(c * 4 + j)]} * row(t - 3 + j, c);
      }
      EXPECT_NEAR(run.y[static_cast<size_t>(t * 7 + c)], sum, 1e-5);
    }
  }
}

TEST_P(ConvTest, RowsMayComeInAnyChunks) {
  std::mt19937 whole_random(7);
  Operands whole(12, 20, 4, whole_random);
  whole.args.activation = ConvActivation::kSilu;
  TableFor(GetParam()).conv(whole.args);
  for (int64_t chunk = 1; chunk < 12; ++chunk) {
    std::mt19937 random(7);
    Operands cut(12, 20, 4, random);
    for (int64_t first = 0; first < 12; first += chunk) {
      ConvArgs args = cut.args;
      args.activation = ConvActivation::kSilu;
      args.x += first * args.x_stride;
      args.x_gate += first * args.x_gate_stride;
      args.y_gate += first * args.y_gate_stride;
      args.y += first * args.y_stride;
      args.rows = std::min<int64_t>(chunk, 12 - first);
      TableFor(GetParam()).conv(args);
    }
    EXPECT_TRUE(SameBits(whole.y, cut.y)) << chunk;
    EXPECT_TRUE(SameBits(whole.state, cut.state)) << chunk;
  }
}

TEST_P(ConvTest, BeginsWithoutWhatStandsInTheState) {
  std::mt19937 zero_random(8);
  std::mt19937 random(8);
  Operands zero(3, 17, 4, zero_random);
  Operands poisoned(3, 17, 4, random);
  std::fill(zero.state.begin(), zero.state.end(), 0.0f);
  std::fill(poisoned.state.begin(), poisoned.state.end(), kNaN);
  poisoned.args.begins = true;
  TableFor(GetParam()).conv(zero.args);
  TableFor(GetParam()).conv(poisoned.args);
  EXPECT_TRUE(SameBits(zero.y, poisoned.y));
}

TEST_P(ConvTest, MayOverwriteItsInput) {
  std::mt19937 random(9);
  Operands run(7, 33, 3, random);
  TableFor(GetParam()).conv(run.args);
  std::mt19937 again(9);
  Operands in_place(7, 33, 3, again);
  in_place.args.y = in_place.x.data();
  in_place.args.y_stride = in_place.args.x_stride;
  TableFor(GetParam()).conv(in_place.args);
  for (int64_t t = 0; t < 7; ++t) {
    for (int64_t c = 0; c < 33; ++c) {
      EXPECT_EQ(in_place.x[static_cast<size_t>(t * 36 + c)],
                run.y[static_cast<size_t>(t * 37 + c)]);
    }
  }
}

}  // namespace
}  // namespace skald::kernels
