#include "model/families/mixture.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/decoder.h"

namespace skald::model {
namespace {

int64_t LayerCount(const Network& network) { return static_cast<int64_t>(network.layers.size()); }

// The numbers of llama.cpp's enumeration, which files carry.
Result<kernels::RouteWeights> ReadWeights(const Keys& keys, kernels::RouteWeights fallback) {
  ASSIGN_OR_RETURN(const int64_t function, keys.SizeOr("expert_gating_func", 0));
  switch (function) {
    case 0: return fallback;
    case 1: return kernels::RouteWeights::kSoftmax;
    case 2: return kernels::RouteWeights::kSigmoid;
    case 3: return kernels::RouteWeights::kSoftmaxOfChosen;
    default:
      return Status(ErrorCode::kUnsupported,
                    keys.Spelled("expert_gating_func") + " is " + std::to_string(function) +
                        ", which is not supported (supported: 1 softmax, 2 sigmoid, 3 softmax of "
                        "the chosen)");
  }
}

Result<kernels::RouteRule> ReadRule(const Keys& keys, const MixtureFamily& family) {
  kernels::RouteRule rule;
  ASSIGN_OR_RETURN(rule.weights, ReadWeights(keys, family.weights));
  const bool one = family.sum == kernels::RouteSum::kOne;
  ASSIGN_OR_RETURN(const bool sum_is_one, keys.FlagOr("expert_weights_norm", one));
  rule.sum = sum_is_one ? kernels::RouteSum::kOne : kernels::RouteSum::kAsItIs;
  ASSIGN_OR_RETURN(const double scale, keys.NumberOr("expert_weights_scale", 0));
  if (scale != 0) rule.scale = static_cast<float>(scale);  // converters write 0 for none
  ASSIGN_OR_RETURN(const int64_t groups, keys.SizeOr("expert_group_count", 1));
  if (groups <= 1) return rule;
  rule.groups = groups;
  ASSIGN_OR_RETURN(rule.used_groups, keys.Size("expert_group_used_count"));
  // DeepSeek V2's published code takes the best of a group (docs/conventions.md).
  if (keys.conventions() == Conventions::kLlamaCpp) {
    rule.group_score = kernels::GroupScore::kBestTwo;
  }
  return rule;
}

// Files give the width of the shared expert, or how many times it is that of the others.
Result<int64_t> SharedHidden(const Keys& keys, int64_t hidden) {
  constexpr std::string_view kWidth = "expert_shared_feed_forward_length";
  if (keys.Contains(kWidth)) return keys.Size(kWidth);
  ASSIGN_OR_RETURN(const int64_t count, keys.SizeOr("expert_shared_count", 0));
  RETURN_IF_ERROR(InRange(keys.Spelled("expert_shared_count"), count, 0, kMaxExperts));
  return count * hidden;
}

// For each layer, whether it is dense.
Result<std::vector<bool>> DenseLayers(const Keys& keys, MixtureLayers rule, int64_t layers) {
  std::vector<bool> dense;
  if (rule == MixtureLayers::kByRouters) {
    for (int64_t i = 0; i < layers; ++i) {
      dense.push_back(!keys.ContainsTensor("blk." + std::to_string(i) + ".ffn_gate_inp.weight"));
    }
    return dense;
  }
  ASSIGN_OR_RETURN(const int64_t leading, keys.SizeOr("leading_dense_block_count", 0));
  RETURN_IF_ERROR(InRange(keys.Spelled("leading_dense_block_count"), leading, 0, layers));
  ASSIGN_OR_RETURN(const int64_t step, keys.SizeOr("interleave_moe_layer_step", 1));
  RETURN_IF_ERROR(InRange(keys.Spelled("interleave_moe_layer_step"), step, 1, kMaxLayers));
  for (int64_t i = 0; i < layers; ++i) dense.push_back(i < leading || (i + 1) % step != 0);
  return dense;
}

}  // namespace

Status ReadMixture(const Keys& keys, const MixtureFamily& family, Network* network) {
  const int64_t layers = LayerCount(*network);
  Experts experts = {.width = network->width,
                     .weight = family.weight,
                     .choice_bias_name = family.choice_bias_name,
                     .shared = {.weight = family.shared_weight}};
  ASSIGN_OR_RETURN(experts.count, keys.Size("expert_count"));
  ASSIGN_OR_RETURN(experts.used, keys.Size("expert_used_count"));
  ASSIGN_OR_RETURN(experts.rule, ReadRule(keys, family));
  ASSIGN_OR_RETURN(const std::vector<int64_t> hidden, keys.LayerSizes(family.width_key, layers));
  ASSIGN_OR_RETURN(const std::vector<bool> dense, DenseLayers(keys, family.layers, layers));
  std::vector<int64_t> dense_hidden;
  if (std::find(dense.begin(), dense.end(), true) != dense.end()) {
    ASSIGN_OR_RETURN(dense_hidden, keys.LayerSizes("feed_forward_length", layers));
  }
  for (size_t i = 0; i < hidden.size(); ++i) {
    if (dense[i]) {
      network->layers[i].feed_forward = Gated{.width = network->width, .hidden = dense_hidden[i]};
      continue;
    }
    experts.hidden = hidden[i];
    const bool fused = keys.ContainsTensor("blk." + std::to_string(i) + ".ffn_gate_up_exps.weight");
    experts.fusion = fused ? Fusion::kFused : Fusion::kSeparate;
    ASSIGN_OR_RETURN(experts.shared.hidden, SharedHidden(keys, hidden[i]));
    network->layers[i].feed_forward = experts;
  }
  return Ok();
}

Status ReadMixtureOrGated(const Keys& keys, const MixtureFamily& family, Network* network) {
  ASSIGN_OR_RETURN(const int64_t count, keys.SizeOr("expert_count", 0));
  return count == 0 ? ReadGated(keys, network) : ReadMixture(keys, family, network);
}

}  // namespace skald::model
