// Command R7B and Command A.
#include <span>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/decoder_keys.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

Status Cohere2(const Config& config, KeyWriter* keys) {
  RETURN_IF_ERROR(WindowKey(config, keys));
  ASSIGN_OR_RETURN(const double scale, config.NumberOr("logit_scale", 0.0625));
  keys->Number("logit_scale", scale);
  return WindowPattern(config, "sliding_window_pattern", keys);
}

constexpr Architecture kKinds[] = {
    {.model_type = "cohere2", .family = "cohere2", .ties_head = true, .write_keys = Cohere2},
};

}  // namespace

std::span<const Architecture> Cohere2Folders() { return kKinds; }

}  // namespace skald::huggingface
