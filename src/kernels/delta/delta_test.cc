#include "kernels/delta/delta.h"

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

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> RandomFloats(int64_t n, std::mt19937& random, float size = 1.0f) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = size * RandomFloat(random);
  return values;
}

// Numbers of 0 .. 1.
std::vector<float> RandomShares(int64_t n, std::mt19937& random) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = static_cast<float>(random() % 1000) / 1000.0f;
  return values;
}

// Operands of one head; strides are wider than the heads.
struct Operands {
  Operands(int64_t rows, int64_t key_dim, int64_t value_dim, uint32_t seed)
      : random(seed),
        query(RandomFloats(rows * (key_dim + 1), random, 0.3f)),
        key(RandomFloats(rows * (key_dim + 2), random, 0.3f)),
        value(RandomFloats(rows * (value_dim + 3), random)),
        decay(RandomShares(rows * (key_dim + 5), random)),
        beta(RandomShares(rows * 5, random)),
        state(RandomFloats(key_dim * value_dim, random)),
        out(static_cast<size_t>(rows * (value_dim + 4)), -12345.0f),
        args({.query = query.data(),
              .query_stride = key_dim + 1,
              .key = key.data(),
              .key_stride = key_dim + 2,
              .value = value.data(),
              .value_stride = value_dim + 3,
              .decay = decay.data(),
              .decay_stride = key_dim + 5,
              .beta = beta.data(),
              .beta_stride = 5,
              .state = state.data(),
              .out = out.data(),
              .out_stride = value_dim + 4,
              .rows = rows,
              .key_dim = key_dim,
              .value_dim = value_dim}) {}
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  std::mt19937 random;
  std::vector<float> query, key, value, decay, beta, state, out;
  DeltaArgs args;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class DeltaTest : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, DeltaTest, testing::ValuesIn(TestedIsas()), IsaTestName);

TEST_P(DeltaTest, GivesTheBitsOfTheSpecification) {
  for (const int64_t key_dim : {1, 16, 33}) {
    for (const int64_t value_dim : {1, 15, 16, 17, 64, 80, 129}) {
      for (const bool begins : {false, true}) {
        SCOPED_TRACE(testing::Message() << key_dim << " x " << value_dim);
        Operands expected(5, key_dim, value_dim, 1);
        Operands found(5, key_dim, value_dim, 1);
        expected.args.begins = found.args.begins = begins;
        // Either way with states that begin and that go on.
        if (value_dim % 2 == 1) {
          expected.args.decay_of = found.args.decay_of = DecayOf::kKeyElement;
        }
        TableFor(ScalarIsa()).delta(expected.args);
        TableFor(GetParam()).delta(found.args);
        ASSERT_TRUE(SameBits(expected.out, found.out)) << "or written past the end";
        ASSERT_TRUE(SameBits(expected.state, found.state));
      }
    }
  }
}

// Decay, read, difference, write, read: in double precision, as it is published.
void ExpectDeltaRule(Isa isa, DecayOf decay_of) {
  Operands run(6, 8, 20, 2);
  run.args.decay_of = decay_of;
  std::vector<double> state(run.state.begin(), run.state.end());
  TableFor(isa).delta(run.args);
  for (int64_t t = 0; t < 6; ++t) {
    const auto at = [t](const std::vector<float>& rows, int64_t stride, int64_t i) {
      return double{rows[static_cast<size_t>(t * stride + i)]};
    };
    for (int64_t i = 0; i < 8 * 20; ++i) {
      state[static_cast<size_t>(i)] *= at(run.decay, 13, decay_of == DecayOf::kHead ? 0 : i / 20);
    }
    for (int64_t j = 0; j < 20; ++j) {
      double read = 0;
      for (int64_t i = 0; i < 8; ++i) {
        read += state[static_cast<size_t>(i * 20 + j)] * at(run.key, 10, i);
      }
      const double delta = at(run.beta, 5, 0) * (at(run.value, 23, j) - read);
      double out = 0;
      for (int64_t i = 0; i < 8; ++i) {
        double& element = state[static_cast<size_t>(i * 20 + j)];
        element += at(run.key, 10, i) * delta;
        out += element * at(run.query, 9, i);
      }
      EXPECT_NEAR(at(run.out, 24, j), out, 1e-5) << t << " " << j;
    }
  }
}

TEST_P(DeltaTest, IsTheDeltaRule) { ExpectDeltaRule(GetParam(), DecayOf::kHead); }

TEST_P(DeltaTest, IsTheDeltaRuleWhereEachElementOfTheKeysDecays) {
  ExpectDeltaRule(GetParam(), DecayOf::kKeyElement);
}

TEST_P(DeltaTest, RowsMayComeInAnyChunks) {
  Operands whole(9, 16, 70, 3);
  TableFor(GetParam()).delta(whole.args);
  for (int64_t chunk = 1; chunk < 9; ++chunk) {
    Operands cut(9, 16, 70, 3);
    for (int64_t first = 0; first < 9; first += chunk) {
      DeltaArgs args = cut.args;
      args.query += first * args.query_stride;
      args.key += first * args.key_stride;
      args.value += first * args.value_stride;
      args.decay += first * args.decay_stride;
      args.beta += first * args.beta_stride;
      args.out += first * args.out_stride;
      args.rows = std::min<int64_t>(chunk, 9 - first);
      TableFor(GetParam()).delta(args);
    }
    EXPECT_TRUE(SameBits(whole.out, cut.out)) << chunk;
    EXPECT_TRUE(SameBits(whole.state, cut.state)) << chunk;
  }
}

TEST_P(DeltaTest, BeginsWithoutWhatStandsInTheState) {
  Operands zero(3, 16, 80, 4);
  Operands poisoned(3, 16, 80, 4);
  std::fill(zero.state.begin(), zero.state.end(), 0.0f);
  std::fill(poisoned.state.begin(), poisoned.state.end(), kNaN);
  poisoned.args.begins = true;
  TableFor(GetParam()).delta(zero.args);
  TableFor(GetParam()).delta(poisoned.args);
  EXPECT_TRUE(SameBits(zero.out, poisoned.out));
  EXPECT_TRUE(SameBits(zero.state, poisoned.state));
}

TEST_P(DeltaTest, MayWriteOverTheValues) {
  Operands apart(4, 16, 65, 5);
  Operands in_place(4, 16, 65, 5);
  in_place.args.out = in_place.value.data();
  in_place.args.out_stride = in_place.args.value_stride;
  TableFor(GetParam()).delta(apart.args);
  TableFor(GetParam()).delta(in_place.args);
  for (int64_t t = 0; t < 4; ++t) {
    for (int64_t j = 0; j < 65; ++j) {
      EXPECT_EQ(in_place.value[static_cast<size_t>(t * 68 + j)],
                apart.out[static_cast<size_t>(t * 69 + j)]);
    }
  }
}

TEST_P(DeltaTest, L2NormGivesTheBitsOfTheSpecification) {
  for (int64_t n = 1; n <= 130; ++n) {
    std::mt19937 random(6);
    std::vector<float> expected = RandomFloats(3 * n + 1, random);
    std::vector<float> found = expected;
    TableFor(ScalarIsa()).l2_norm({.x = expected.data(), .heads = 3, .n = n, .scale = 0.3f});
    TableFor(GetParam()).l2_norm({.x = found.data(), .heads = 3, .n = n, .scale = 0.3f});
    ASSERT_TRUE(SameBits(expected, found)) << n << ", or written past the end";
  }
}

// The published form has its small number inside of the root; with the other form, x / max(|x|,
// eps), this length would be 1.
TEST_P(DeltaTest, L2NormOfAShortHeadIsShorterThanOne) {
  std::vector<float> x(16, 1e-3f / 4);  // length 1e-3
  TableFor(GetParam()).l2_norm({.x = x.data(), .heads = 1, .n = 16});
  double squares = 0;
  for (const float value : x) squares += double{value} * value;
  EXPECT_NEAR(std::sqrt(squares), 0.70710678, 1e-6);
}

TEST(Decay, IsTheExponentialOfSoftplusTimesTheRate) {
  for (double x = -60; x <= 60; x += 0.37) {
    for (const double rate : {-0.01, -1.0, -16.0}) {
      const double softplus = x > 30 ? x : std::log1p(std::exp(x));
      const double exact = std::exp(softplus * rate);
      const float found = Decay(Softplus(static_cast<float>(x)), static_cast<float>(rate));
      EXPECT_NEAR(found, exact, 2e-7 * (1 - softplus * rate) * exact + 2e-38) << x << " " << rate;
    }
  }
  EXPECT_EQ(Decay(Softplus(-1e30f), -1), 1.0f);
  EXPECT_EQ(Decay(Softplus(1e30f), -1), 0.0f);
  EXPECT_TRUE(std::isnan(Decay(Softplus(kNaN), -1)));
}

}  // namespace
}  // namespace skald::kernels
