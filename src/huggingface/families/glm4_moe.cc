// GLM-4.5 and 4.6: attention as llama's, DeepSeek's router.
#include <span>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/expert_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

// GLM's have attention as llama's, and norms that the common names know.
constexpr NameRule kGlm4MoeNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.mlp.gate.e_score_correction_bias", "blk.#.exp_probs_b.bias"},
    {"layers.#.mlp.shared_experts.gate_proj.weight", "blk.#.ffn_gate_shexp.weight"},
    {"layers.#.mlp.shared_experts.up_proj.weight", "blk.#.ffn_up_shexp.weight"},
    {"layers.#.mlp.shared_experts.down_proj.weight", "blk.#.ffn_down_shexp.weight"}};

Status Glm4Moe(const Config& config, KeyWriter* keys) {
  return RouterKeys(config, RoutingFunction::kSigmoid, keys);
}

Status NameGlm4Moe(const Config& config, std::vector<std::string>* names) {
  ASSIGN_OR_RETURN(const bool norms_heads, config.FlagOr("use_qk_norm", false));
  if (norms_heads) names->emplace_back("blk.0.attn_q_norm.weight");
  return Ok();
}

constexpr Architecture kKinds[] = {
    {.model_type = "glm4_moe",
     .family = "glm4moe",
     .rules = kGlm4MoeNames,
     .rotated_share = 0.5,
     .write_keys = Glm4Moe,
     .name_tensors = NameGlm4Moe},
};

}  // namespace

std::span<const Architecture> Glm4MoeFolders() { return kKinds; }

}  // namespace skald::huggingface
