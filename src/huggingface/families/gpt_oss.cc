// gpt-oss: sinks, windows in turn, experts with biases in MXFP4.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kGptOssNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"},
    {"layers.#.self_attn.sinks", "blk.#.attn_sinks.weight"},
    {"layers.#.mlp.router.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.mlp.router.bias", "blk.#.ffn_gate_inp.bias"},
    {"layers.#.mlp.experts.gate_up_proj_blocks", "blk.#.ffn_gate_exps.weight", Change::kEvenRows},
    {"layers.#.mlp.experts.gate_up_proj_blocks", "blk.#.ffn_up_exps.weight", Change::kOddRows},
    {"layers.#.mlp.experts.gate_up_proj_bias", "blk.#.ffn_gate_exps.bias", Change::kEvenRows},
    {"layers.#.mlp.experts.gate_up_proj_bias", "blk.#.ffn_up_exps.bias", Change::kOddRows},
    {"layers.#.mlp.experts.down_proj_blocks", "blk.#.ffn_down_exps.weight"},
    {"layers.#.mlp.experts.down_proj_bias", "blk.#.ffn_down_exps.bias"}};

Status GptOss(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  RETURN_IF_ERROR(WindowPattern(config, {}, keys));
  return ExpertKeys(config, {.count = "num_local_experts", .width = "intermediate_size"}, keys);
}

constexpr Architecture kKinds[] = {
    {.model_type = "gpt_oss", .family = "gpt-oss", .rules = kGptOssNames, .write_keys = GptOss},
};

}  // namespace

std::span<const Architecture> GptOssFolders() { return kKinds; }

}  // namespace skald::huggingface
