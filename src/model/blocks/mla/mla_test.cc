// Run against the published form of latent attention in double precision, which makes keys and
// values of each head out of the latents: K_h^T latent and V_h latent.

#include "model/blocks/mla/mla.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "model/blocks/mixer_for_test.h"

namespace skald::model {
namespace {

constexpr int64_t kRows = 41;

// Of one position and head.
struct Head {
  Vector query, key, value;
};

Head Expand(const Network& network, const Mla& mla, const Vector& x, int64_t position, int64_t h) {
  const auto rank = static_cast<size_t>(mla.rank);
  Vector latent = Times(mla.latent, x);
  RmsNorm(mla.latent_norm.weight, mla.latent_norm.epsilon, std::span(latent).first(rank));
  Vector source = x;
  if (mla.has_query_rank()) {
    source = Times(mla.query_down, x);
    RmsNorm(mla.query_norm.weight, mla.query_norm.epsilon, source);
  }
  const Vector queries = Times(mla.query, source);
  const auto first = queries.begin() + h * mla.query_dim();
  Head head;
  head.query.assign(first, first + mla.query_dim());
  const kernels::PackedMatrix& up = mla.key_up[static_cast<size_t>(h)];
  head.key.assign(static_cast<size_t>(mla.nope_dim), 0);
  std::vector<float> row(static_cast<size_t>(mla.nope_dim));
  for (size_t i = 0; i < rank; ++i) {
    kernels::UnpackRow(up, static_cast<int64_t>(i), row.data());
    for (size_t j = 0; j < row.size(); ++j) head.key[j] += latent[i] * row[j];
  }
  head.key.insert(head.key.end(), latent.begin() + mla.rank, latent.end());
  head.value = Times(mla.value_up[static_cast<size_t>(h)], latent);
  const auto nope = static_cast<size_t>(mla.nope_dim);
  if (mla.rope) {
    Turn(network.ropes[*mla.rope], position, std::span(head.query).subspan(nope));
    Turn(network.ropes[*mla.rope], position, std::span(head.key).subspan(nope));
  }
  for (double& q : head.query) q *= Warmth(mla.temperature, position) * double{mla.scale};
  return head;
}

std::vector<Vector> Expected(const Network& network, const Mla& mla,
                             const std::vector<Vector>& rows) {
  std::vector<Vector> heads(rows.size());
  for (int64_t h = 0; h < mla.heads; ++h) {
    std::vector<Head> all;
    for (size_t p = 0; p < rows.size(); ++p) {
      all.push_back(Expand(network, mla, rows[p], static_cast<int64_t>(p), h));
      Vector sum(static_cast<size_t>(mla.value_dim));
      double weights = 0;
      for (const Head& seen : all) {
        const double weight = std::exp(
            std::inner_product(seen.key.begin(), seen.key.end(), all.back().query.begin(), 0.0));
        weights += weight;
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * seen.value[i];
      }
      for (const double value : sum) heads[p].push_back(value / weights);
    }
  }
  for (Vector& row : heads) row = Times(mla.output, row);
  return heads;
}

Mla Small() {
  return {.width = 24,
          .heads = 3,
          .nope_dim = 10,
          .rope_dim = 6,
          .value_dim = 9,
          .rank = 21,
          .scale = 0.4f,
          .rope = 1,
          .query_norm = {.epsilon = 0.1f},
          .latent_norm = {.epsilon = 0.2f}};
}

void ExpectFormula(const Mla& numbers) {
  MixerForTest<Mla> test(numbers, {{.rotated = 4, .base = 10}, {.rotated = 6, .base = 100}});
  const std::vector<Vector> rows = test.RandomRows(kRows);
  const std::vector<Vector> expected = Expected(test.network(), test.mixer(), rows);
  for (const int64_t chunk : {int64_t{1}, int64_t{7}, kRows}) {
    EXPECT_LT(Largest(test.Run(rows, chunk), expected), 2e-5) << "chunks of " << chunk;
  }
}

TEST(Mla, IsAttentionOverKeysAndValuesMadeOfLatents) {
  ExpectFormula(Small());
  Mla many = Small();
  many.heads = 18;
  ExpectFormula(many);
}

TEST(Mla, QueriesMayHaveALatentOfTheirOwn) {
  Mla mla = Small();
  mla.query_rank = 13;
  ExpectFormula(mla);
}

TEST(Mla, PositionsMayTurnNothingOrLetQueriesGrow) {
  Mla mla = Small();
  mla.rope.reset();
  ExpectFormula(mla);
  mla = Small();
  mla.temperature = {.scale = 0.7, .length = 5, .shift = 2};
  ExpectFormula(mla);
}

}  // namespace
}  // namespace skald::model
