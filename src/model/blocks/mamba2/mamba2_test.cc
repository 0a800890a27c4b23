// Run against the published recurrence in double precision.

#include "model/blocks/mamba2/mamba2.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "model/blocks/mixer_for_test.h"

namespace skald::model {
namespace {

constexpr int64_t kRows = 23;
constexpr Mamba2 kNumbers = {.width = 24,
                             .heads = 6,
                             .head_dim = 5,
                             .state_dim = 7,
                             .groups = 2,
                             .taps = 3,
                             .norm_epsilon = 0.1f};

// z, x, B, C and dt of each row; x, B and C convolved.
struct MixedRow {
  Vector z, x, b, c, dt;
};

MixedRow SplitRow(const Mamba2& mamba, const Vector& row) {
  auto next = row.begin();
  const auto take = [&next](int64_t count) {
    next += count;
    return Vector(next - count, next);
  };
  const int64_t shared = mamba.groups * mamba.state_dim;
  MixedRow mixed;
  mixed.z = take(mamba.inner());
  mixed.x = take(mamba.inner());
  mixed.b = take(shared);
  mixed.c = take(shared);
  mixed.dt = take(mamba.heads);
  return mixed;
}

std::vector<MixedRow> Mixed(const Mamba2& mamba, const std::vector<Vector>& rows) {
  std::vector<Vector> products;
  std::vector<MixedRow> out;
  const auto first = static_cast<size_t>(mamba.inner());
  const auto taps = static_cast<size_t>(mamba.taps);
  for (const Vector& row : rows) {
    products.push_back(Times(mamba.input, row));
    Vector mixed = products.back();
    for (size_t c = 0; c < static_cast<size_t>(mamba.channels()); ++c) {
      double y = double{mamba.conv_bias[c]};
      for (size_t back = 0; back < std::min(products.size(), taps); ++back) {
        const double weight = double{mamba.weights[(c + 1) * taps - 1 - back]};
        y += weight * products[products.size() - 1 - back][first + c];
      }
      mixed[first + c] = y * Logistic(y);
    }
    out.push_back(SplitRow(mamba, mixed));
  }
  return out;
}

// Reads and writes the state of one head, [state_dim][head_dim].
Vector ScanRow(const Mamba2& mamba, const MixedRow& row, size_t head, std::vector<Vector>& state) {
  const auto d = static_cast<size_t>(mamba.head_dim);
  const auto n = static_cast<size_t>(mamba.state_dim);
  const size_t group = head / static_cast<size_t>(mamba.heads / mamba.groups);
  const double step = std::log1p(std::exp(row.dt[head] + double{mamba.step_bias[head]}));
  const double decay = std::exp(step * double{mamba.decay_rate[head]});
  Vector y(d);
  for (size_t j = 0; j < d; ++j) {
    const double x = row.x[head * d + j];
    y[j] = double{mamba.skip[head]} * x;
    for (size_t i = 0; i < n; ++i) {
      state[i][j] = decay * state[i][j] + step * x * row.b[group * n + i];
      y[j] += state[i][j] * row.c[group * n + i];
    }
    const double z = row.z[head * d + j];
    y[j] *= z * Logistic(z);
  }
  return y;
}

std::vector<Vector> Expected(const Mamba2& mamba, const std::vector<Vector>& rows) {
  std::vector<Vector> out;
  std::vector<std::vector<Vector>> states(
      static_cast<size_t>(mamba.heads),
      std::vector<Vector>(static_cast<size_t>(mamba.state_dim),
                          Vector(static_cast<size_t>(mamba.head_dim))));
  const auto group = static_cast<size_t>(mamba.inner() / mamba.groups);
  for (const MixedRow& row : Mixed(mamba, rows)) {
    Vector heads;
    for (size_t head = 0; head < states.size(); ++head) {
      const Vector y = ScanRow(mamba, row, head, states[head]);
      heads.insert(heads.end(), y.begin(), y.end());
    }
    for (size_t first = 0; first < heads.size(); first += group) {
      RmsNorm(std::span(mamba.norm).subspan(first, group), mamba.norm_epsilon,
              std::span(heads).subspan(first, group));
    }
    out.push_back(Times(mamba.output, heads));
  }
  return out;
}

TEST(Mamba2, IsTheSelectiveScanOfItsPaper) {
  MixerForTest<Mamba2> test(kNumbers, {});
  const std::vector<Vector> rows = test.RandomRows(kRows);
  const std::vector<Vector> expected = Expected(test.mixer(), rows);
  for (const int64_t chunk : {int64_t{1}, int64_t{7}, kRows}) {
    EXPECT_LT(Largest(test.Run(rows, chunk), expected), 2e-5) << "chunks of " << chunk;
  }
}

TEST(Mamba2, ShowsWhatTheScanReads) {
  MixerForTest<Mamba2> test(kNumbers, {});
  const std::vector<Vector> rows = test.RandomRows(kRows);
  std::vector<Vector> x, b, c;
  for (const MixedRow& row : Mixed(test.mixer(), rows)) {
    x.push_back(row.x);
    b.push_back(row.b);
    c.push_back(row.c);
  }
  const std::vector<PartValues> shown = test.Shown(rows);
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].role, ValueRole::kQuery);
  EXPECT_EQ(shown[1].role, ValueRole::kKey);
  EXPECT_EQ(shown[2].role, ValueRole::kValue);
  EXPECT_LT(DistanceOf(shown[0].summary, c), 2e-5);
  EXPECT_LT(DistanceOf(shown[1].summary, b), 2e-5);
  EXPECT_LT(DistanceOf(shown[2].summary, x), 2e-5);
}

}  // namespace
}  // namespace skald::model
