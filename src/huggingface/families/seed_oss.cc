// Seed-OSS: a llama whose second norm has another name.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

constexpr NameRule kSeedOssNames[] = {
    {"layers.#.post_attention_layernorm.weight", "blk.#.post_attention_norm.weight"}};

constexpr Architecture kKinds[] = {
    {.model_type = "seed_oss", .family = "seed_oss", .rules = kSeedOssNames},
};

}  // namespace

std::span<const Architecture> SeedOssFolders() { return kKinds; }

}  // namespace skald::huggingface
