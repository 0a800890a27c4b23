#include "huggingface/expert_keys.h"

#include <fmt/format.h>

#include "base/status_macros.h"
#include "formats/quote.h"

namespace skald::huggingface {
namespace {

Result<RoutingFunction> ReadFunction(const Config& config, RoutingFunction usual) {
  constexpr std::string_view kName = "scoring_func";
  if (!config.Contains(kName)) return usual;
  ASSIGN_OR_RETURN(const std::string_view name, config.Text(kName));
  if (name == "softmax") return RoutingFunction::kSoftmax;
  if (name == "sigmoid") return RoutingFunction::kSigmoid;
  return ConfigError(kName, fmt::format("is {}, expected softmax or sigmoid", formats::Quote(name)),
                     ErrorCode::kUnsupported);
}

// Some files have groups and a method that does not look at them.
Status GroupKeys(const Config& config, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const int64_t groups, config.IntOr("n_group", 1));
  ASSIGN_OR_RETURN(const std::string_view method, config.TextOr("topk_method", "noaux_tc"));
  const bool looks = method == "noaux_tc" || method == "group_limited_greedy";
  if (!looks && method != "greedy") {
    return ConfigError("topk_method",
                       fmt::format("is {}, expected greedy, group_limited_greedy or noaux_tc",
                                   formats::Quote(method)),
                       ErrorCode::kUnsupported);
  }
  if (!looks || groups == 1) return Ok();
  ASSIGN_OR_RETURN(const int64_t used, config.Int("topk_group"));
  keys->Int("expert_group_count", groups);
  keys->Int("expert_group_used_count", used);
  return Ok();
}

Status OtherFlag(std::string_view name, std::string_view value) {
  return ConfigError(name, fmt::format("is {}, which this version does not run", value),
                     ErrorCode::kUnsupported);
}

}  // namespace

Status ExpertKeys(const Config& config, const ExpertMembers& members, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const int64_t count, config.Int(members.count));
  ASSIGN_OR_RETURN(const int64_t used, config.Int(members.used));
  ASSIGN_OR_RETURN(const int64_t width, config.Int(members.width));
  keys->Int("expert_count", count);
  keys->Int("expert_used_count", used);
  keys->Int("expert_feed_forward_length", width);
  return Ok();
}

Status ExpertsInEveryLayer(const Config& config) {
  ASSIGN_OR_RETURN(const int64_t step, config.IntOr("decoder_sparse_step", 1));
  if (step != 1) return ConfigError("decoder_sparse_step", "is not 1", ErrorCode::kUnsupported);
  const auto dense = config.Find("mlp_only_layers");
  if (dense && dense->size() > 0)
    return ConfigError("mlp_only_layers", "is not empty", ErrorCode::kUnsupported);
  return Ok();
}

Status ExpectTrue(const Config& config, std::string_view name) {
  ASSIGN_OR_RETURN(const bool flag, config.FlagOr(name, true));
  return flag ? Ok() : OtherFlag(name, "false");
}

Status ExpectFalse(const Config& config, std::string_view name) {
  ASSIGN_OR_RETURN(const bool flag, config.FlagOr(name, false));
  return flag ? OtherFlag(name, "true") : Ok();
}

Status RouterKeys(const Config& config, RoutingFunction usual, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const int64_t step, config.IntOr("moe_layer_freq", 1));
  if (step != 1) return ConfigError("moe_layer_freq", "is not 1", ErrorCode::kUnsupported);
  ASSIGN_OR_RETURN(const int64_t dense, config.IntOr("first_k_dense_replace", 0));
  ASSIGN_OR_RETURN(const int64_t shared, config.IntOr("n_shared_experts", 0));
  ASSIGN_OR_RETURN(const double scale, config.NumberOr("routed_scaling_factor", 1));
  ASSIGN_OR_RETURN(const RoutingFunction function, ReadFunction(config, usual));
  ASSIGN_OR_RETURN(const bool sums_to_one,
                   config.FlagOr("norm_topk_prob", usual == RoutingFunction::kSigmoid));
  keys->Int("leading_dense_block_count", dense);
  keys->Int("expert_shared_count", shared);
  keys->Number("expert_weights_scale", scale);
  keys->Flag("expert_weights_norm", sums_to_one);
  keys->Int("expert_gating_func", static_cast<int64_t>(function));
  RETURN_IF_ERROR(GroupKeys(config, keys));
  return ExpertKeys(config, {.count = "n_routed_experts"}, keys);
}

}  // namespace skald::huggingface
