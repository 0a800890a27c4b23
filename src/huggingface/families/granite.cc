// Granite 3: a llama with four factors.
#include <span>
#include <string_view>

#include "base/status_macros.h"
#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "skald/status.h"

namespace skald::huggingface {
namespace {

Status Granite(const Config& config, KeyWriter* keys) {
  struct Factor {
    std::string_view member;
    std::string_view key;
  };
  constexpr Factor kFactors[] = {{"embedding_multiplier", "embedding_scale"},
                                 {"residual_multiplier", "residual_scale"},
                                 {"attention_multiplier", "attention.scale"},
                                 {"logits_scaling", "logit_scale"}};
  for (const Factor& factor : kFactors) {
    if (!config.Contains(factor.member)) continue;
    ASSIGN_OR_RETURN(const double value, config.Number(factor.member));
    keys->Number(factor.key, value);
  }
  return Ok();
}

constexpr Architecture kKinds[] = {
    {.model_type = "granite", .family = "granite", .pairs_rows = true, .write_keys = Granite},
};

}  // namespace

std::span<const Architecture> GraniteFolders() { return kKinds; }

}  // namespace skald::huggingface
