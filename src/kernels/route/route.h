/// Route: which experts a token goes to, and with what weight (numerics 3.10). Sources: Shazeer et
/// al. 2017; the share of each among the chosen as in Mixtral (Jiang et al. 2024); sigmoid, choice
/// bias and groups as in DeepSeek-V3 (2024).
///
/// One implementation for every instruction set: a row has some hundred scores, beside matrices of
/// millions of elements.
#pragma once

#include <cstdint>

namespace skald::kernels {

/// What makes the weight of an expert of its score.
enum class RouteWeights : uint8_t {
  kSoftmax,          ///< its share of all experts
  kSigmoid,          ///< by itself
  kSoftmaxOfChosen,  ///< its share of the chosen, straight from their scores
};

/// Whether the weights of the chosen are divided by their sum.
enum class RouteSum : uint8_t { kAsItIs, kOne };

/// How good a group is.
enum class GroupScore : uint8_t {
  kPublished,  ///< as its best expert, or where there is a choice bias as its best two together
  kBestTwo,    ///< always as its best two: llama.cpp's form
};

/// Groups are counted on the stack.
inline constexpr int64_t kMaxRouteGroups = 64;

/// How a mixture chooses, the same for all tokens.
struct RouteRule {
  RouteWeights weights = RouteWeights::kSoftmax;
  RouteSum sum = RouteSum::kOne;
  float scale = 1;          ///< of the weights, at last
  int64_t groups = 1;       ///< 1 .. kMaxRouteGroups, divides the experts: neighbours
  int64_t used_groups = 1;  ///< 1 .. groups: from which a token may choose
  GroupScore group_score = GroupScore::kPublished;
};

/// The scores of one token, and where the choice goes.
struct RouteArgs {
  RouteRule rule = {};
  const float* scores = nullptr;  ///< [experts]
  const float* bias = nullptr;    ///< [experts]: for the choice alone; or nullptr
  float* choice = nullptr;        ///< [experts]: scratch; with a bias or GroupScore::kBestTwo
  int64_t experts = 0;
  int64_t used = 0;           ///< 1 .. experts of used_groups groups
  int32_t* chosen = nullptr;  ///< [used]: indices, ascending
  /// [used]: of the chosen, in their order. NaN if what it was made of is: a score of any expert
  /// under kSoftmax, its own under kSigmoid, one of the chosen where they are summed.
  float* weights = nullptr;
};

/// 1 / (1 + Exp(-x)) (numerics 3.10).
float Sigmoid(float x);

/// Any thread; allocates nothing. Time: experts * used at worst, about experts as a rule.
void Route(const RouteArgs& args);

}  // namespace skald::kernels
