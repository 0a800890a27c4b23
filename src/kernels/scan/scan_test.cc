#include "kernels/scan/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
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

std::vector<float> RandomFloats(int64_t n, std::mt19937& random) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = 0.5f * RandomFloat(random);
  return values;
}

// Operands of one head: rows of x, b and c, then 3 floats of others.
struct Operands {
  Operands(int64_t rows, int64_t state_dim, int64_t head_dim, uint32_t seed)
      : random(seed),
        mixed(RandomFloats(rows * (head_dim + 2 * state_dim + 3), random)),
        gates(RandomFloats(rows * 4, random)),
        state(RandomFloats(state_dim * head_dim, random)),
        y(static_cast<size_t>(rows * (head_dim + 2)), -12345.0f),
        args({.x = mixed.data(),
              .b = mixed.data() + head_dim,
              .c = mixed.data() + head_dim + state_dim,
              .row_stride = head_dim + 2 * state_dim + 3,
              .decay = gates.data(),
              .step = gates.data() + 1,
              .gate_stride = 4,
              .skip = 0.75f,
              .state = state.data(),
              .y = y.data(),
              .y_stride = head_dim + 2,
              .rows = rows,
              .state_dim = state_dim,
              .head_dim = head_dim}) {}
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  std::mt19937 random;
  std::vector<float> mixed, gates, state, y;
  ScanArgs args;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class ScanTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, ScanTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(ScanTest, GivesTheBitsOfTheSpecification) {
  for (const int64_t state_dim : {1, 16, 33}) {
    for (const int64_t head_dim : {1, 15, 16, 17, 64, 80, 129}) {
      for (const bool begins : {false, true}) {
        SCOPED_TRACE(testing::Message() << state_dim << " x " << head_dim);
        Operands expected(5, state_dim, head_dim, 1);
        Operands found(5, state_dim, head_dim, 1);
        expected.args.begins = found.args.begins = begins;
        TableFor(ScalarIsa()).scan(expected.args);
        TableFor(GetParam()).scan(found.args);
        ASSERT_TRUE(SameBits(expected.y, found.y)) << "or written past the end";
        ASSERT_TRUE(SameBits(expected.state, found.state));
      }
    }
  }
}

// As it is published, in double precision.
TEST_P(ScanTest, FadesThenTakesUpTheRowThenReads) {
  Operands run(6, 8, 20, 2);
  std::vector<double> state(run.state.begin(), run.state.end());
  TableFor(GetParam()).scan(run.args);
  for (int64_t t = 0; t < 6; ++t) {
    const auto mixed = [&](int64_t i) {
      return double{run.mixed[static_cast<size_t>(t * 39 + i)]};
    };
    const double decay = run.gates[static_cast<size_t>(t * 4)];
    const double step = run.gates[static_cast<size_t>(t * 4 + 1)];
    for (int64_t p = 0; p < 20; ++p) {
      double y = 0.75 * mixed(p);
      for (int64_t n = 0; n < 8; ++n) {
        double& element = state[static_cast<size_t>(n * 20 + p)];
        element = decay * element + step * mixed(p) * mixed(20 + n);
        y += element * mixed(28 + n);
      }
      EXPECT_NEAR(run.y[static_cast<size_t>(t * 22 + p)], y, 1e-5) << t << " " << p;
    }
  }
}

TEST_P(ScanTest, RowsMayComeInAnyChunks) {
  Operands whole(9, 16, 70, 3);
  TableFor(GetParam()).scan(whole.args);
  for (int64_t chunk = 1; chunk < 9; ++chunk) {
    Operands cut(9, 16, 70, 3);
    for (int64_t first = 0; first < 9; first += chunk) {
      ScanArgs args = cut.args;
      for (const float** rows : {&args.x, &args.b, &args.c}) *rows += first * args.row_stride;
      for (const float** gates : {&args.decay, &args.step}) *gates += first * args.gate_stride;
      args.y += first * args.y_stride;
      args.rows = std::min<int64_t>(chunk, 9 - first);
      TableFor(GetParam()).scan(args);
    }
    EXPECT_TRUE(SameBits(whole.y, cut.y)) << chunk;
    EXPECT_TRUE(SameBits(whole.state, cut.state)) << chunk;
  }
}

TEST_P(ScanTest, BeginsWithoutWhatStandsInTheStateAndMayWriteOverItsInput) {
  Operands zero(3, 16, 80, 4);
  Operands poisoned(3, 16, 80, 4);
  std::fill(zero.state.begin(), zero.state.end(), 0.0f);
  std::fill(poisoned.state.begin(), poisoned.state.end(), std::numeric_limits<float>::quiet_NaN());
  poisoned.args.begins = true;
  poisoned.args.y = poisoned.mixed.data();
  poisoned.args.y_stride = poisoned.args.row_stride;
  TableFor(GetParam()).scan(zero.args);
  TableFor(GetParam()).scan(poisoned.args);
  EXPECT_TRUE(SameBits(zero.state, poisoned.state));
  for (int64_t t = 0; t < 3; ++t) {
    for (int64_t p = 0; p < 80; ++p) {
      EXPECT_EQ(zero.y[static_cast<size_t>(t * 82 + p)],
                poisoned.mixed[static_cast<size_t>(t * 115 + p)]);
    }
  }
}

}  // namespace
}  // namespace skald::kernels
