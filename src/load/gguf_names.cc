#include "load/gguf_names.h"

#include "base/check.h"

namespace skald::load {
namespace {

std::string_view BaseName(model::WeightRole role) {
  using model::WeightRole;
  switch (role) {
    case WeightRole::kTokenEmbedding: return "token_embd.weight";
    case WeightRole::kRopeFactors: return "rope_freqs.weight";
    case WeightRole::kAttentionNorm: return "attn_norm.weight";
    case WeightRole::kQuery: return "attn_q.weight";
    case WeightRole::kQueryBias: return "attn_q.bias";
    case WeightRole::kQueryNorm: return "attn_q_norm.weight";
    case WeightRole::kKey: return "attn_k.weight";
    case WeightRole::kKeyBias: return "attn_k.bias";
    case WeightRole::kKeyNorm: return "attn_k_norm.weight";
    case WeightRole::kValue: return "attn_v.weight";
    case WeightRole::kValueBias: return "attn_v.bias";
    case WeightRole::kAttentionOutput: return "attn_output.weight";
    case WeightRole::kFeedForwardNorm: return "ffn_norm.weight";
    case WeightRole::kGate: return "ffn_gate.weight";
    case WeightRole::kUp: return "ffn_up.weight";
    case WeightRole::kDown: return "ffn_down.weight";
    case WeightRole::kOutputNorm: return "output_norm.weight";
    case WeightRole::kOutput: return "output.weight";
  }
  UNREACHABLE();
}

}  // namespace

std::string TensorName(const model::WeightSlot& slot) {
  std::string name;
  if (slot.layer >= 0) name = "blk." + std::to_string(slot.layer) + ".";
  return name.append(BaseName(slot.role));
}

}  // namespace skald::load
