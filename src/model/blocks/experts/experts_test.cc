// Run against numerics 3.10, one row and one expert at a time with the scalar kernels: bit for bit.

#include "model/blocks/experts/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/isa/tested_isas.h"
#include "kernels/kernels.h"
#include "kernels/route/route.h"
#include "model/network.h"

namespace skald::model {
namespace {

using kernels::PackedMatrix;

constexpr int64_t kWidth = 48;
constexpr int64_t kHidden = 24;
constexpr int64_t kCount = 6;
constexpr int64_t kUsed = 3;

std::vector<float> RandomFloats(int64_t count, std::mt19937& random) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(random() % 20001) * 1e-4f - 1.0f);
  }
  return values;
}

// Experts of float weights, and the memory they lie in.
struct Mixture {
  Experts experts;
  std::vector<AlignedBuffer> storage;

  Mixture(const Experts& numbers, std::mt19937& random) : experts(numbers) {
    TensorList tensors;
    Declare(experts, tensors);
    for (const TensorSlot& slot : tensors.Take()) {
      if (slot.is_vector()) {
        slot.vector() = RandomFloats(slot.rows * slot.cols, random);
        continue;
      }
      for (PackedMatrix& matrix : slot.matrices()) matrix = Pack(slot, random);
    }
  }

  PackedMatrix Pack(const TensorSlot& slot, std::mt19937& random) {
    PackedMatrix matrix{kernels::PanelType::kF32, slot.rows, slot.cols};
    storage.push_back(
        *AlignedBuffer::Create(static_cast<uint64_t>(matrix.panel_count() * matrix.panel_bytes())));
    const std::vector<float> values = RandomFloats(slot.rows * slot.cols, random);
    for (int64_t row = 0; row < slot.rows; row += kernels::kPanelRows) {
      const int64_t count = std::min<int64_t>(kernels::kPanelRows, slot.rows - row);
      const auto part = std::span(values).subspan(static_cast<size_t>(row * slot.cols),
                                                  static_cast<size_t>(count * slot.cols));
      kernels::PackPanel(tensor::DType::kF32, std::as_bytes(part), static_cast<int>(count),
                         slot.cols,
                         storage.back().data() + row / kernels::kPanelRows * matrix.panel_bytes());
    }
    matrix.panels = storage.back().data();
    return matrix;
  }
};

// Numerics 3.6 for float weights.
std::vector<float> Multiply(const PackedMatrix& matrix, const std::vector<float>& x) {
  std::vector<float> weights(static_cast<size_t>(matrix.cols));
  std::vector<float> y;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    kernels::UnpackRow(matrix, row, weights.data());
    float sum = 0;
    for (size_t k = 0; k < weights.size(); ++k) sum = std::fma(weights[k], x[k], sum);
    y.push_back(sum);
  }
  return y;
}

std::vector<float> Plus(std::vector<float> x, const std::vector<float>& bias, size_t first) {
  for (size_t i = 0; i < x.size() && !bias.empty(); ++i) x[i] += bias[first + i];
  return x;
}

std::vector<float> OneExpert(const Experts& experts, size_t e, const std::vector<float>& x) {
  std::vector<float> hidden =
      Plus(Multiply(experts.gate[e], x), experts.gate_bias, e * size_t{kHidden});
  const std::vector<float> up =
      Plus(Multiply(experts.up[e], x), experts.up_bias, e * size_t{kHidden});
  const auto join = experts.function == Gate::kSilu
                        ? kernels::TableFor(kernels::ScalarIsa()).swiglu
                        : kernels::TableFor(kernels::ScalarIsa()).swiglu_clamped;
  join(hidden.data(), up.data(), hidden.data(), kHidden);
  return Plus(Multiply(experts.down[e], hidden), experts.down_bias, e * size_t{kWidth});
}

std::vector<float> Shared(const SharedExpert& shared, const std::vector<float>& x) {
  std::vector<float> hidden = Multiply(shared.gate, x);
  const std::vector<float> up = Multiply(shared.up, x);
  kernels::TableFor(kernels::ScalarIsa())
      .swiglu(hidden.data(), up.data(), hidden.data(), shared.hidden);
  return Multiply(shared.down, hidden);
}

std::vector<float> Expected(const Experts& experts, const std::vector<float>& x) {
  const std::vector<float> scores = Plus(Multiply(experts.router, x), experts.router_bias, 0);
  std::vector<int32_t> chosen(kUsed);
  std::vector<float> weights(kUsed);
  std::vector<float> choice(kCount);
  kernels::Route({.rule = experts.rule,
                  .scores = scores.data(),
                  .bias = experts.choice_bias.empty() ? nullptr : experts.choice_bias.data(),
                  .choice = choice.data(),
                  .experts = kCount,
                  .used = kUsed,
                  .chosen = chosen.data(),
                  .weights = weights.data()});
  std::vector<float> sum(kWidth, 0.0f);
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto e = static_cast<size_t>(chosen[i]);
    const bool of_output = experts.weight == ExpertWeight::kOfOutput;
    std::vector<float> input = x;
    for (float& value : input) value = of_output ? value : std::fma(weights[i], value, 0.0f);
    const std::vector<float> y = OneExpert(experts, e, input);
    for (size_t n = 0; n < y.size(); ++n) {
      sum[n] = std::fma(of_output ? weights[i] : 1.0f, y[n], sum[n]);
    }
  }
  if (experts.shared.hidden == 0) return sum;
  const SharedExpert& shared = experts.shared;
  const std::vector<float> y = Shared(shared, x);
  float weight = 1;
  if (shared.weight == SharedWeight::kSigmoid) {
    weight = kernels::Sigmoid(Multiply(shared.selector, x)[0]);
  }
  for (size_t n = 0; n < y.size(); ++n) sum[n] = std::fma(weight, y[n], sum[n]);
  return sum;
}

constexpr Experts kPlain = {.width = kWidth, .hidden = kHidden, .count = kCount, .used = kUsed};

// One mixture for each thing that a mixture may do.
std::vector<Experts> Mixtures() {
  std::vector<Experts> all(8, kPlain);
  all[1].rule = {.weights = kernels::RouteWeights::kSigmoid, .scale = 2.5f};
  all[1].choice_bias_name = "exp_probs_b.bias";
  all[2].rule = {.sum = kernels::RouteSum::kAsItIs, .groups = 3, .used_groups = 2};
  all[2].choice_bias_name = "exp_probs_b.bias";
  // Wider, narrower and as wide as the others.
  all[3].shared = {.hidden = 56};
  all[4].shared = {.hidden = 8, .weight = SharedWeight::kSigmoid};
  all[5].shared = {.hidden = kHidden};
  all[5].weight = ExpertWeight::kOfInput;
  all[5].rule = {.weights = kernels::RouteWeights::kSigmoid, .sum = kernels::RouteSum::kAsItIs};
  all[6].rule.weights = kernels::RouteWeights::kSoftmaxOfChosen;
  all[6].biases = Biases::kOfAll;
  all[6].function = Gate::kClampedSilu;
  all[6].shared = {.hidden = 40};
  all[7].biases = Biases::kOfAll;
  all[7].fusion = Fusion::kFused;
  return all;
}

class ExpertsTest : public testing::TestWithParam<kernels::Isa> {};
INSTANTIATE_TEST_SUITE_P(Isas, ExpertsTest, testing::ValuesIn(kernels::TestedIsas()),
                         kernels::IsaTestName);

// A mixture in a network of its own, with all that Run needs.
void CheckMixture(const Experts& numbers, kernels::Isa isa) {
  std::mt19937 random(1);
  const Mixture mixture(numbers, random);
  Network network;
  network.vocab = 1;
  network.width = kWidth;
  network.layers.push_back(
      {.mixer = Gqa{.width = kWidth, .heads = 1, .kv_heads = 1, .key_dim = 16, .value_dim = 16},
       .feed_forward = mixture.experts});
  constexpr int64_t kRows = 70;
  Workspace space = *Workspace::Create(network, {.rows = kRows, .threads = 2});
  kv::KvStore store = *kv::KvStore::Create(KvLayoutOf(network, kernels::KvType::kF32), 1);
  const kernels::KernelTable table = kernels::TableFor(isa);
  ThreadPool pool(2);
  const Execution execution{table, pool};
  const Context context{store, space, {}, execution};
  const Norm norm{.epsilon = 1e-5f, .weight = RandomFloats(kWidth, random)};
  for (const int64_t rows : {int64_t{1}, int64_t{2}, int64_t{17}, kRows}) {
    for (int64_t row = 0; row < rows; ++row) {
      const std::vector<float> x = RandomFloats(kWidth, random);
      std::copy(x.begin(), x.end(), space.residual.row(row));
    }
    model::Run(mixture.experts,
               {.rows = space.residual, .row_count = rows, .norm = &norm, .normed = space.normed},
               context);
    for (int64_t row = 0; row < rows; ++row) {
      const float* normed = space.normed.row(row);
      const std::vector<float> expected = Expected(mixture.experts, {normed, normed + kWidth});
      ASSERT_EQ(std::memcmp(space.projected.row(row), expected.data(), kWidth * sizeof(float)), 0)
          << rows << " rows, row " << row;
    }
  }
}

TEST_P(ExpertsTest, GivesTheBitsOfTheSpecificationForAnyNumberOfRows) {
  const std::vector<Experts> mixtures = Mixtures();
  for (size_t i = 0; i < mixtures.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(Validate(mixtures[i]).ok());
    CheckMixture(mixtures[i], GetParam());
  }
}

std::string Problem(const Experts& experts) { return Validate(experts).message(); }

TEST(ValidateExperts, NamesNumbersThatMakeNoSense) {
  EXPECT_EQ(Problem(kPlain), "");
  Experts experts = kPlain;
  experts.rule.groups = 4;
  EXPECT_EQ(Problem(experts), "expert count 6 is not a multiple of expert group count 4");
  experts.rule.groups = 3;
  EXPECT_EQ(Problem(experts), "used experts is 3, expected 1 to 2");
  experts.rule.used_groups = 2;
  EXPECT_EQ(Problem(experts), "");
  experts.rule.used_groups = 4;
  EXPECT_EQ(Problem(experts), "used expert groups is 4, expected 1 to 3");
  experts.rule.groups = 65;
  EXPECT_EQ(Problem(experts), "expert group count is 65, expected 1 to 64");
  experts = kPlain;
  experts.shared.hidden = -1;
  EXPECT_NE(Problem(experts).find("shared expert feed forward length is -1"), std::string::npos);
}

}  // namespace
}  // namespace skald::model
