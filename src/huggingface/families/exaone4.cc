// EXAONE 4: norms behind the blocks.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kExaone4Names[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"}};

Status Exaone4(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  return WindowPattern(config, {}, keys);
}

constexpr Architecture kKinds[] = {
    {.model_type = "exaone4", .family = "exaone4", .rules = kExaone4Names, .write_keys = Exaone4},
};

}  // namespace

std::span<const Architecture> Exaone4Folders() { return kKinds; }

}  // namespace skald::huggingface
