// Promise 1 on the head of models that rank (same_answer_test.cc says how), and the head beside its
// formulas in double precision.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/pack/panel.h"
#include "promises/any_schedule.h"
#include "support/random_model.h"

namespace skald {
namespace {

using model::RankFunction;
using model::RankHead;
using promises::Runner;

using Doubles = std::vector<double>;

Doubles Product(const kernels::PackedMatrix& matrix, const std::vector<float>& bias,
                const Doubles& x) {
  Doubles y;
  std::vector<float> row(static_cast<size_t>(matrix.cols));
  for (int64_t i = 0; i < matrix.rows; ++i) {
    kernels::UnpackRow(matrix, static_cast<TokenId>(i), row.data());
    double sum = bias.empty() ? 0 : bias[static_cast<size_t>(i)];
    for (size_t j = 0; j < row.size(); ++j) sum += double{row[j]} * x[j];
    y.push_back(sum);
  }
  return y;
}

double Apply(RankFunction function, double x) {
  switch (function) {
    case RankFunction::kTanh: return std::tanh(x);
    case RankFunction::kGelu:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case RankFunction::kGeluErf: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  }
  return NAN;
}

void Normalize(const model::Norm& norm, Doubles* x) {
  const auto n = static_cast<double>(x->size());
  double mean = 0, variance = 0;
  for (const double value : *x) mean += value / n;
  for (const double value : *x) variance += (value - mean) * (value - mean) / n;
  for (size_t i = 0; i < x->size(); ++i) {
    const double unit = ((*x)[i] - mean) / std::sqrt(variance + double{norm.epsilon});
    (*x)[i] = unit * double{norm.weight[i]} + (norm.bias.empty() ? 0 : double{norm.bias[i]});
  }
}

double ExactScore(const RankHead& head, std::span<const float> state) {
  Doubles x(state.begin(), state.end());
  if (head.function) {
    x = Product(head.dense, head.dense_bias, x);
    for (double& value : x) value = Apply(*head.function, value);
  }
  if (head.norm.exists()) Normalize(head.norm, &x);
  x = Product(head.output, head.output_bias, x);
  return head.outputs == 2 ? x[0] - x[1] : x[0];
}

// As BERT, ModernBERT, a decoder that answers yes or no, and Jina's first do.
std::vector<RankHead> Forms() {
  const model::Norm norm = {.kind = model::NormKind::kLayer, .epsilon = 1e-3f};
  return {{.outputs = 1, .function = RankFunction::kTanh},
          {.outputs = 1, .function = RankFunction::kGeluErf, .norm = norm},
          {.outputs = 1, .function = RankFunction::kGelu, .norm = norm},
          {.outputs = 2},
          {.outputs = 1, .output_name = "cls"}};
}

std::vector<float> RandomState(int64_t width, uint32_t seed) {
  std::vector<float> state;
  for (int64_t i = 0; i < width; ++i) {
    seed = seed * 1664525 + 1013904223;
    state.push_back(static_cast<float>(seed >> 8) * 0x1p-23f - 1);
  }
  return state;
}

class RankHeads : public testing::TestWithParam<tensor::DType> {};

TEST_P(RankHeads, ScoreAsTheirFormulasOnEveryInstructionSet) {
  for (const RankHead& form : Forms()) {
    const model::Transformer network = support::MakeRandomModel(
        {.dtype = GetParam(), .optional_biases = true, .change = [&](model::Network& changed) {
           changed.rank_head = form;
           changed.rank_head.width = changed.width;
         }});
    const RankHead& head = network.network().rank_head;
    const std::vector<float> state = RandomState(head.width, 7);
    Runner plain(network, {}, kernels::KvType::kF16);
    const float score = plain.Score(state);
    // Activations of quantized matrices are integers of 8 bits.
    const double tolerance = GetParam() == tensor::DType::kF32 ? 1e-5 : 0.05;
    EXPECT_NEAR(score, ExactScore(head, state), tolerance);
    for (const kernels::Isa isa : kernels::AllIsas()) {
      if (!isa.supported()) continue;
      Runner other(network, {.isa = isa, .threads = 3}, kernels::KvType::kF16);
      EXPECT_EQ(other.Score(state), score) << isa.name;
      EXPECT_NE(other.Score(RandomState(head.width, 8)), score);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Types, RankHeads,
                         testing::Values(tensor::DType::kF32, tensor::DType::kQ8_0));

// Tokens of the second text of a pair are of another kind.
TEST(Promise1, HoldsForKindsOfTokensInAPair) {
  const model::Transformer network = support::MakeRandomModel(
      {.family = "bert", .change = [](model::Network& changed) { changed.token_types = 2; }});
  const std::vector<TokenId> tokens = {5, 6, 7, 8};
  const std::vector<kv::PageId> pages = {2};
  const std::vector<int32_t> wanted = {0};
  const auto first_state = [&](int64_t second_text) {
    Runner runner(network, {}, kernels::KvType::kF16);
    const std::vector<model::SequenceRows> rows = {
        {.row_count = 4, .pages = pages, .second_text = second_text}};
    runner.Forward({.tokens = tokens, .sequences = rows, .logit_rows = {}, .hidden_rows = wanted});
    return runner.HiddenRow(0);
  };
  const std::vector<float> alone = first_state(0);
  EXPECT_NE(first_state(1), alone);
  EXPECT_NE(first_state(3), alone);
  EXPECT_NE(first_state(3), first_state(1));
  EXPECT_EQ(first_state(4), alone) << "nothing is behind the last";
}

}  // namespace
}  // namespace skald
