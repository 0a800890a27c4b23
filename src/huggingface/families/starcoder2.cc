// StarCoder2: a feed-forward without gates, and biases.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kStarCoder2Names[] = {{"layers.#.mlp.c_fc.weight", "blk.#.ffn_up.weight"},
                                         {"layers.#.mlp.c_fc.bias", "blk.#.ffn_up.bias"},
                                         {"layers.#.mlp.c_proj.weight", "blk.#.ffn_down.weight"},
                                         {"layers.#.mlp.c_proj.bias", "blk.#.ffn_down.bias"}};

Status StarCoder2(const Config& config, KeyWriter* keys) { return WindowKey(config, keys); }

constexpr Architecture kKinds[] = {
    {.model_type = "starcoder2",
     .family = "starcoder2",
     .rules = kStarCoder2Names,
     .ties_head = true,
     .activation = "gelu_pytorch_tanh",
     .write_keys = StarCoder2},
};

}  // namespace

std::span<const Architecture> StarCoder2Folders() { return kKinds; }

}  // namespace skald::huggingface
