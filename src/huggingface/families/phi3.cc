// Phi-3 and Phi-4: queries, keys and values in one tensor, gates and ups in another.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kPhi3Names[] = {{"layers.#.mlp.gate_up_proj.weight", "blk.#.ffn_up.weight"},
                                   {"layers.#.self_attn.qkv_proj.weight", "blk.#.attn_qkv.weight"}};

Status Phi3(const Config& config, KeyWriter* keys) { return WindowKey(config, keys); }

constexpr Architecture kKinds[] = {
    {.model_type = "phi3", .family = "phi3", .rules = kPhi3Names, .write_keys = Phi3},
};

}  // namespace

std::span<const Architecture> Phi3Folders() { return kKinds; }

}  // namespace skald::huggingface
