// Llama and what is one but for a member or two: Mistral, Mixtral, SmolLM3.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "huggingface/expert_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kMixtralNames[] = {
    {"layers.#.block_sparse_moe.gate.weight", "blk.#.ffn_gate_inp.weight"},
    {"layers.#.block_sparse_moe.experts.#.w1.weight", "blk.#.ffn_gate_exps.weight"},
    {"layers.#.block_sparse_moe.experts.#.w2.weight", "blk.#.ffn_down_exps.weight"},
    {"layers.#.block_sparse_moe.experts.#.w3.weight", "blk.#.ffn_up_exps.weight"}};

Status Mistral(const Config& config, KeyWriter* keys) { return WindowKey(config, keys); }

Status Mixtral(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  return ExpertKeys(config, {.count = "num_local_experts", .width = "intermediate_size"}, keys);
}

// The layers that do not turn positions are those of the family.
Status SmolLm3(const Config& config, KeyWriter*) { return ExpectUnusedWindow(config); }

constexpr Architecture kKinds[] = {
    {.model_type = "llama", .family = "llama", .pairs_rows = true},
    {.model_type = "mistral", .family = "llama", .pairs_rows = true, .write_keys = Mistral},
    {.model_type = "mixtral",
     .family = "llama",
     .rules = kMixtralNames,
     .pairs_rows = true,
     .write_keys = Mixtral},
    {.model_type = "smollm3",
     .family = "smollm3",
     .pairs_rows = true,
     .ties_head = true,
     .write_keys = SmolLm3},
};

}  // namespace

std::span<const Architecture> LlamaFolders() { return kKinds; }

}  // namespace skald::huggingface
