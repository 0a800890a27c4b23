// Qwen 2 and 3, and their mixtures.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

Status Qwen(const Config& config, KeyWriter*) { return ExpectUnusedWindow(config); }

Status Qwen2Moe(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(ExpectUnusedWindow(config));
  RETURN_IF_ERROR(ExpertsInEveryLayer(config));
  RETURN_IF_ERROR(ExpectFalse(config, "norm_topk_prob"));
  ASSIGN_OR_RETURN(const int64_t shared, config.Int("shared_expert_intermediate_size"));
  keys->Int("expert_shared_feed_forward_length", shared);
  return ExpertKeys(config, {.count = "num_experts"}, keys);
}

Status Qwen3Moe(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(ExpectUnusedWindow(config));
  RETURN_IF_ERROR(ExpertsInEveryLayer(config));
  RETURN_IF_ERROR(ExpectTrue(config, "norm_topk_prob"));
  return ExpertKeys(config, {.count = "num_experts"}, keys);
}

constexpr Architecture kKinds[] = {
    {.model_type = "qwen2", .family = "qwen2", .write_keys = Qwen},
    {.model_type = "qwen2_moe", .family = "qwen2moe", .write_keys = Qwen2Moe},
    {.model_type = "qwen3", .family = "qwen3", .write_keys = Qwen},
    {.model_type = "qwen3_moe", .family = "qwen3moe", .write_keys = Qwen3Moe},
};

}  // namespace

std::span<const Architecture> QwenFolders() { return kKinds; }

}  // namespace skald::huggingface
