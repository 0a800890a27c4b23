// Run against the formula of attention in double precision, with each of its switches: a mistake in
// one shows, though no file of a family with it is at hand.

#include "model/blocks/gqa/gqa.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "model/blocks/mixer_for_test.h"

namespace skald::model {
namespace {

constexpr int64_t kRows = 41;

std::vector<Rope> Ropes() {
  return {{.pairing = kernels::RopePairing::kHalves, .rotated = 8, .base = 100},
          {.rotated = 6, .base = 10, .attention_factor = 1.25},
          {.rotated = 8,
           .base = 100,
           .scaling = RopeScaling::kYarn,
           .factor = 4,
           .original_context = 16,
           .magnitude = 1.5}};
}

// Norm and RoPE of some heads.
void Finish(const Network& network, const Gqa& gqa, const std::vector<float>& weight,
            int64_t position, Vector& heads) {
  const auto length = static_cast<size_t>(gqa.key_dim);
  const auto norm = [&] {
    if (gqa.head_norm == HeadNorm::kNone) return;
    const size_t part = gqa.head_norm == HeadNorm::kRmsOfRow ? heads.size() : length;
    for (size_t i = 0; i < heads.size(); i += part) {
      RmsNorm(weight, gqa.norm_epsilon, std::span(heads).subspan(i, part));
    }
  };
  if (gqa.head_norm_place == HeadNormPlace::kBeforeRope) norm();
  for (size_t i = 0; gqa.rope && i < heads.size(); i += length) {
    Turn(network.ropes[*gqa.rope], position, std::span(heads).subspan(i, length));
  }
  if (gqa.head_norm_place == HeadNormPlace::kBehindRope) norm();
}

Vector Biased(Vector x, const std::vector<float>& bias) {
  for (size_t i = 0; i < bias.size(); ++i) x[i] += double{bias[i]};
  return x;
}

// Of all rows: queries, keys, values and gates, as attention takes them.
struct Projected {
  std::vector<Vector> queries, keys, values, gates;
};

Projected Project(const Network& network, const Gqa& gqa, const std::vector<Vector>& rows) {
  Projected all;
  const auto length = static_cast<size_t>(gqa.key_dim);
  for (size_t p = 0; p < rows.size(); ++p) {
    const auto position = static_cast<int64_t>(p);
    Vector query = Biased(Times(gqa.query, rows[p]), gqa.query_bias);
    Vector key = Biased(Times(gqa.key, rows[p]), gqa.key_bias);
    Vector value = key;
    if (gqa.values == ValueSource::kMatrix) {
      value = Biased(Times(gqa.value, rows[p]), gqa.value_bias);
    }
    for (size_t i = 0; gqa.value_norm == ValueNorm::kRms && i < value.size();
         i += static_cast<size_t>(gqa.value_dim)) {
      RmsNorm({}, gqa.norm_epsilon,
              std::span(value).subspan(i, static_cast<size_t>(gqa.value_dim)));
    }
    Vector gate;
    if (gqa.output_gate != OutputGate::kNone) {
      Vector queries;
      for (size_t i = 0; i < query.size(); ++i) {
        (i / length % 2 == 0 ? queries : gate).push_back(query[i]);
      }
      query = queries;
    }
    Finish(network, gqa, gqa.query_norm, position, query);
    Finish(network, gqa, gqa.key_norm, position, key);
    for (double& q : query) q *= Warmth(gqa.temperature, position) * double{gqa.scale};
    all.queries.push_back(query);
    all.keys.push_back(key);
    all.values.push_back(value);
    all.gates.push_back(gate);
  }
  return all;
}

bool Sees(const Gqa& gqa, size_t position, size_t other) {
  const auto window = static_cast<size_t>(gqa.window);
  const auto chunk = static_cast<size_t>(gqa.chunk);
  return (window == 0 || position - other < window) &&
         (chunk == 0 || position / chunk == other / chunk);
}

// What head h gives at a position.
Vector Attend(const Gqa& gqa, const Projected& all, size_t position, int64_t h) {
  const int64_t kv = h / gqa.group();
  const auto query = all.queries[position].begin() + h * gqa.key_dim;
  double weights = gqa.sink.empty() ? 0 : std::exp(double{gqa.sink[static_cast<size_t>(h)]});
  Vector sum(static_cast<size_t>(gqa.value_dim));
  for (size_t other = 0; other <= position; ++other) {
    if (!Sees(gqa, position, other)) continue;
    const auto key = all.keys[other].begin() + kv * gqa.key_dim;
    double score = std::inner_product(query, query + gqa.key_dim, key, 0.0);
    if (gqa.soft_cap > 0) score = gqa.soft_cap * std::tanh(score / gqa.soft_cap);
    weights += std::exp(score);
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] += std::exp(score) * all.values[other][static_cast<size_t>(kv * gqa.value_dim) + i];
    }
  }
  for (double& value : sum) value /= weights;
  return sum;
}

std::vector<Vector> Expected(const Network& network, const Gqa& gqa,
                             const std::vector<Vector>& rows) {
  const Projected all = Project(network, gqa, rows);
  std::vector<Vector> out;
  for (size_t p = 0; p < rows.size(); ++p) {
    Vector heads;
    for (int64_t h = 0; h < gqa.heads; ++h) {
      const Vector head = Attend(gqa, all, p, h);
      heads.insert(heads.end(), head.begin(), head.end());
    }
    for (size_t i = 0; i < all.gates[p].size(); ++i) heads[i] *= Logistic(all.gates[p][i]);
    out.push_back(Biased(Times(gqa.output, heads), gqa.output_bias));
  }
  return out;
}

// The queries, keys and values that it shows are those of the formula.
void ExpectShown(const MixerForTest<Gqa>& test, const std::vector<Vector>& rows) {
  Projected all = Project(test.network(), test.mixer(), rows);
  for (Vector& query : all.queries) {
    for (double& q : query) q /= double{test.mixer().scale};
  }
  const std::vector<PartValues> shown = test.Shown(rows);
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].role, ValueRole::kQuery);
  EXPECT_EQ(shown[1].role, ValueRole::kKey);
  EXPECT_EQ(shown[2].role, ValueRole::kValue);
  EXPECT_LT(DistanceOf(shown[0].summary, all.queries), 2e-5);
  EXPECT_LT(DistanceOf(shown[1].summary, all.keys), 2e-5);
  EXPECT_LT(DistanceOf(shown[2].summary, all.values), 2e-5);
}

void ExpectFormula(const std::function<void(Gqa&)>& change) {
  Gqa gqa = {.width = 24,
             .heads = 6,
             .kv_heads = 2,
             .key_dim = 8,
             .value_dim = 8,
             .scale = 0.5f,
             .norm_epsilon = 0.1f};
  change(gqa);
  MixerForTest<Gqa> test(gqa, Ropes());
  const std::vector<Vector> rows = test.RandomRows(kRows);
  const std::vector<Vector> expected = Expected(test.network(), test.mixer(), rows);
  for (const int64_t chunk : {int64_t{1}, int64_t{7}, kRows}) {
    EXPECT_LT(Largest(test.Run(rows, chunk), expected), 2e-5) << "chunks of " << chunk;
  }
  ExpectShown(test, rows);
}

TEST(Gqa, IsAttentionWithBiases) {
  ExpectFormula([](Gqa&) {});
  ExpectFormula([](Gqa& gqa) { gqa.kv_heads = 6, gqa.value_dim = 5; });
}

TEST(Gqa, TakesTheRopeThatItNames) {
  ExpectFormula([](Gqa& gqa) { gqa.rope = 1; });
  ExpectFormula([](Gqa& gqa) { gqa.rope = 2; });
  ExpectFormula([](Gqa& gqa) { gqa.rope.reset(); });
}

TEST(Gqa, RowsSeeAWindowOrTheirChunk) {
  for (const int64_t seen : {1, 2, 9, 40}) {
    ExpectFormula([=](Gqa& gqa) { gqa.window = seen; });
    ExpectFormula([=](Gqa& gqa) { gqa.chunk = seen; });
  }
  ExpectFormula([](Gqa& gqa) { gqa.window = 9, gqa.chunk = 12; });
}

TEST(Gqa, EachHeadHasItsSinkAndAllACap) {
  ExpectFormula([](Gqa& gqa) { gqa.sinks = Sinks::kOnePerHead; });
  ExpectFormula([](Gqa& gqa) { gqa.soft_cap = 0.6f; });
  ExpectFormula([](Gqa& gqa) { gqa.sinks = Sinks::kOnePerHead, gqa.soft_cap = 0.6f; });
}

TEST(Gqa, HeadsAreNormedBeforeOrBehindRope) {
  for (const auto place : {HeadNormPlace::kBeforeRope, HeadNormPlace::kBehindRope}) {
    for (const auto norm : {HeadNorm::kRms, HeadNorm::kRmsOfRow, HeadNorm::kRmsWithoutWeight}) {
      ExpectFormula([=](Gqa& gqa) { gqa.head_norm = norm, gqa.head_norm_place = place; });
    }
  }
}

TEST(Gqa, QueriesGrowWithTheirPosition) {
  ExpectFormula([](Gqa& gqa) { gqa.temperature = {.scale = 0.7, .length = 5}; });
  ExpectFormula([](Gqa& gqa) { gqa.temperature = {.scale = 0.7, .length = 5, .shift = 2}; });
}

TEST(Gqa, KeysMayBeValuesAndHeadsGated) {
  ExpectFormula([](Gqa& gqa) { gqa.values = ValueSource::kKeys; });
  ExpectFormula([](Gqa& gqa) { gqa.value_norm = ValueNorm::kRms; });
  ExpectFormula([](Gqa& gqa) { gqa.output_gate = OutputGate::kSigmoid; });
  ExpectFormula([](Gqa& gqa) {
    gqa.values = ValueSource::kKeys;
    gqa.value_norm = ValueNorm::kRms;
    gqa.head_norm = HeadNorm::kRms;
  });
}

TEST(Gqa, QueriesKeysAndValuesMayBeOneTensor) {
  ExpectFormula([](Gqa& gqa) { gqa.fusion = Fusion::kFused; });
}

}  // namespace
}  // namespace skald::model
