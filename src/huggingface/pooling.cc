#include "huggingface/pooling.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/documents.h"
#include "huggingface/tokenizer_steps.h"

namespace skald::huggingface {
namespace {

constexpr std::string_view kModules = "modules.json";

Status Bad(std::string_view problem, std::string_view found, ErrorCode code) {
  return Status(code, fmt::format("{}: {} {}", kModules, problem, formats::Quote(found)));
}

// The path of the pooling; empty where there is none. Making vectors of length 1 is not a part of
// the model here.
Result<std::string> PoolingPath(JsonValue modules) {
  std::string path;
  for (const JsonValue step : modules) {
    const std::string_view type = JsonText(step, "type");
    if (type.ends_with(".Transformer") || type.ends_with(".Normalize")) continue;
    if (!type.ends_with(".Pooling"))
      return Bad("this version does not run the step", type, ErrorCode::kUnsupported);
    path = JsonText(step, "path");
    const bool leads_out = path.empty() || path.find('/') != std::string::npos || path == "..";
    if (leads_out) return Bad("no name of a folder beside it:", path, ErrorCode::kBadModel);
  }
  return path;
}

struct Mode {
  std::string_view member;
  int64_t type;  // as GGUF numbers them; 0: not known here
};

constexpr Mode kModes[] = {{"pooling_mode_cls_token", 2},
                           {"pooling_mode_mean_tokens", 1},
                           {"pooling_mode_lasttoken", 3},
                           {"pooling_mode_max_tokens", 0},
                           {"pooling_mode_mean_sqrt_len_tokens", 0},
                           {"pooling_mode_weightedmean_tokens", 0}};

// Several at once would be joined end to end.
Result<int64_t> ReadMode(JsonValue config, const std::string& name) {
  std::optional<int64_t> type;
  for (const Mode& mode : kModes) {
    if (!JsonFlag(config, mode.member, false)) continue;
    type = type ? 0 : mode.type;
  }
  if (type.value_or(0) != 0) return *type;
  return Status(ErrorCode::kUnsupported,
                name +
                    ": expected one of pooling_mode_cls_token, pooling_mode_mean_tokens and "
                    "pooling_mode_lasttoken to be true");
}

}  // namespace

Status WritePooling(const std::string& folder, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const std::optional<JsonTree> modules, ReadTreeIfThere(folder, kModules));
  if (!modules) return Ok();
  ASSIGN_OR_RETURN(const std::string path, PoolingPath(modules->root()));
  if (path.empty()) return Ok();
  const std::string name = path + "/config.json";
  ASSIGN_OR_RETURN(const JsonTree config, ReadTree(folder, name));
  ASSIGN_OR_RETURN(const int64_t type, ReadMode(config.root(), name));
  keys->Int("pooling_type", type);
  return Ok();
}

}  // namespace skald::huggingface
