/// The keys of mixtures of experts, and members that ask for what no family does.
#pragma once

#include <cstdint>
#include <string_view>

#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "skald/status.h"

namespace skald::huggingface {

/// What config.json calls the numbers of experts.
struct ExpertMembers {
  std::string_view count;
  std::string_view used = "num_experts_per_tok";
  std::string_view width = "moe_intermediate_size";
};

/// Writes how many experts there are, how many a token uses, and how wide they are.
Status ExpertKeys(const Config& config, const ExpertMembers& members, KeyWriter* keys);

/// Mixtures of Qwen may leave some layers without experts; none that is published does. Errors:
/// kUnsupported for one that does.
Status ExpertsInEveryLayer(const Config& config);

/// The family computes it in one way; a folder that asks for the other would answer wrongly. One
/// that does not say means what is expected. Errors: kUnsupported.
Status ExpectTrue(const Config& config, std::string_view name);
Status ExpectFalse(const Config& config, std::string_view name);

/// How the functions that turn scores into weights are numbered in GGUF.
enum class RoutingFunction : int64_t { kSoftmax = 1, kSigmoid = 2 };

/// Writes what DeepSeek's router has beyond that: shared experts, leading dense layers, the factor
/// and the sum of the weights, groups, and `usual`, unless `scoring_func` says something else.
Status RouterKeys(const Config& config, RoutingFunction usual, KeyWriter* keys);

}  // namespace skald::huggingface
