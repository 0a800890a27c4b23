// OLMo 2 and 3: norms behind the blocks.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kOlmoNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"}};

Status Olmo3(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  return WindowPattern(config, {}, keys);
}

constexpr Architecture kKinds[] = {
    {.model_type = "olmo2", .family = "olmo2", .rules = kOlmoNames},
    {.model_type = "olmo3", .family = "olmo2", .rules = kOlmoNames, .write_keys = Olmo3},
};

}  // namespace

std::span<const Architecture> OlmoFolders() { return kKinds; }

}  // namespace skald::huggingface
