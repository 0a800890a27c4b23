// Run against the published recurrence in double precision.

#include "model/blocks/kda/kda.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "model/blocks/mixer_for_test.h"

namespace skald::model {
namespace {

constexpr int64_t kRows = 23;

// Rows of one of the inputs, convolved.
std::vector<Vector> Convolved(const Kda& kda, const KdaInput& input,
                              const std::vector<Vector>& rows) {
  std::vector<Vector> products;
  std::vector<Vector> out;
  for (const Vector& row : rows) {
    products.push_back(Times(input.matrix, row));
    Vector y(products.back().size());
    for (size_t c = 0; c < y.size(); ++c) {
      for (size_t back = 0; back < std::min(products.size(), static_cast<size_t>(kda.taps));
           ++back) {
        const size_t tap = (c + 1) * static_cast<size_t>(kda.taps) - 1 - back;
        y[c] += double{input.taps[tap]} * products[products.size() - 1 - back][c];
      }
      y[c] *= Logistic(y[c]);
    }
    out.push_back(std::move(y));
  }
  return out;
}

Vector Part(const Vector& row, int64_t first, int64_t count) {
  return {row.begin() + first, row.begin() + first + count};
}

void L2Norm(double scale, Vector& x) {
  const double squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  for (double& element : x) element *= scale / std::sqrt(squares + 1e-6);
}

std::vector<Vector> Expected(const Kda& kda, const std::vector<Vector>& rows) {
  const int64_t d = kda.head_dim;
  const auto queries = Convolved(kda, kda.query, rows);
  const auto keys = Convolved(kda, kda.key, rows);
  const auto values = Convolved(kda, kda.value, rows);
  std::vector<Vector> heads(rows.size());
  for (int64_t h = 0; h < kda.heads; ++h) {
    std::vector<Vector> state(static_cast<size_t>(d), Vector(static_cast<size_t>(d)));
    for (size_t t = 0; t < rows.size(); ++t) {
      Vector query = Part(queries[t], h * d, d);
      Vector key = Part(keys[t], h * d, d);
      const Vector value = Part(values[t], h * d, d);
      L2Norm(1 / std::sqrt(static_cast<double>(d)), query);
      L2Norm(1, key);
      const Vector steps = Times(kda.decay.up, Times(kda.decay.down, rows[t]));
      const double beta = Logistic(Times(kda.beta, rows[t])[static_cast<size_t>(h)]);
      for (size_t i = 0; i < state.size(); ++i) {
        const size_t channel = static_cast<size_t>(h * d) + i;
        const double step = std::log1p(std::exp(steps[channel] + double{kda.decay_bias[channel]}));
        for (double& s : state[i]) {
          s *= std::exp(step * double{kda.decay_rate[static_cast<size_t>(h)]});
        }
      }
      Vector out(static_cast<size_t>(d));
      for (size_t j = 0; j < out.size(); ++j) {
        double read = 0;
        for (size_t i = 0; i < state.size(); ++i) read += state[i][j] * key[i];
        for (size_t i = 0; i < state.size(); ++i) {
          state[i][j] += beta * (value[j] - read) * key[i];
          out[j] += state[i][j] * query[i];
        }
      }
      RmsNorm(kda.norm, kda.norm_epsilon, out);
      const Vector gates = Times(kda.output_gate.up, Times(kda.output_gate.down, rows[t]));
      for (size_t j = 0; j < out.size(); ++j) {
        heads[t].push_back(out[j] * Logistic(gates[static_cast<size_t>(h * d) + j]));
      }
    }
  }
  for (Vector& row : heads) row = Times(kda.output, row);
  return heads;
}

TEST(Kda, IsTheDeltaRuleWithADecayOfEachElementOfTheKeys) {
  MixerForTest<Kda> test(
      Kda{.width = 24, .heads = 3, .head_dim = 10, .taps = 3, .norm_epsilon = 0.1f}, {});
  const std::vector<Vector> rows = test.RandomRows(kRows);
  const std::vector<Vector> expected = Expected(test.mixer(), rows);
  for (const int64_t chunk : {int64_t{1}, int64_t{7}, kRows}) {
    EXPECT_LT(Largest(test.Run(rows, chunk), expected), 2e-5) << "chunks of " << chunk;
  }
}

TEST(Kda, ShowsWhatTheDeltaRuleReads) {
  MixerForTest<Kda> test(
      Kda{.width = 24, .heads = 3, .head_dim = 10, .taps = 3, .norm_epsilon = 0.1f}, {});
  const std::vector<Vector> rows = test.RandomRows(kRows);
  const Kda& kda = test.mixer();
  const auto normed = [&](const KdaInput& input, double scale) {
    std::vector<Vector> whole;
    for (const Vector& row : Convolved(kda, input, rows)) {
      Vector& heads = whole.emplace_back();
      for (int64_t h = 0; h < kda.heads; ++h) {
        Vector head = Part(row, h * kda.head_dim, kda.head_dim);
        L2Norm(scale, head);
        heads.insert(heads.end(), head.begin(), head.end());
      }
    }
    return whole;
  };
  const std::vector<PartValues> shown = test.Shown(rows);
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].role, ValueRole::kQuery);
  EXPECT_EQ(shown[1].role, ValueRole::kKey);
  EXPECT_EQ(shown[2].role, ValueRole::kValue);
  EXPECT_LT(DistanceOf(shown[0].summary, normed(kda.query, 1 / std::sqrt(10.0))), 2e-5);
  EXPECT_LT(DistanceOf(shown[1].summary, normed(kda.key, 1)), 2e-5);
  EXPECT_LT(DistanceOf(shown[2].summary, Convolved(kda, kda.value, rows)), 2e-5);
}

}  // namespace
}  // namespace skald::model
