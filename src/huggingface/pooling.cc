#include "huggingface/pooling.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "formats/quote.h"
#include "huggingface/documents.h"
#include "huggingface/tokenizer_steps.h"

namespace skald::huggingface {
namespace {

constexpr std::string_view kModules = "modules.json";
constexpr size_t kProjections = 2;

Status Bad(std::string_view problem, std::string_view found, ErrorCode code) {
  return Status(code, fmt::format("{}: {} {}", kModules, problem, formats::Quote(found)));
}

// The steps that are a part of the model here. Making vectors of length 1 is none.
struct Steps {
  std::string pooling = {};                   // its folder; empty where there is none
  std::vector<std::string> projections = {};  // theirs, in order
};

Result<std::string> PathOf(JsonValue step) {
  std::string path(JsonText(step, "path"));
  const bool leads_out = path.empty() || path.find('/') != std::string::npos || path == "..";
  if (leads_out) return Bad("no name of a folder beside it:", path, ErrorCode::kBadModel);
  return path;
}

Result<Steps> ReadSteps(JsonValue modules, const Architecture& architecture) {
  Steps steps;
  for (const JsonValue step : modules) {
    const std::string_view type = JsonText(step, "type");
    if (type.ends_with(".Transformer") || type.ends_with(".Normalize")) continue;
    const bool projects =
        architecture.projects && type.ends_with(".Dense") && !steps.pooling.empty();
    if (!projects && !type.ends_with(".Pooling"))
      return Bad("this version does not run the step", type, ErrorCode::kUnsupported);
    ASSIGN_OR_RETURN(std::string path, PathOf(step));
    if (projects)
      steps.projections.push_back(std::move(path));
    else
      steps.pooling = std::move(path);
  }
  if (!steps.projections.empty() && steps.projections.size() != kProjections)
    return Status(ErrorCode::kUnsupported,
                  fmt::format("{}: {} Dense steps, expected {} or none", kModules,
                              steps.projections.size(), kProjections));
  return steps;
}

struct Mode {
  std::string_view member;
  std::optional<PoolingType> type;  // none: not known here
};

constexpr Mode kModes[] = {{"pooling_mode_cls_token", PoolingType::kFirst},
                           {"pooling_mode_mean_tokens", PoolingType::kMean},
                           {"pooling_mode_lasttoken", PoolingType::kLast},
                           {"pooling_mode_max_tokens", std::nullopt},
                           {"pooling_mode_mean_sqrt_len_tokens", std::nullopt},
                           {"pooling_mode_weightedmean_tokens", std::nullopt}};

// Several at once would be joined end to end.
Result<PoolingType> ReadMode(JsonValue config, const std::string& name) {
  int count = 0;
  std::optional<PoolingType> type;
  for (const Mode& mode : kModes) {
    if (!JsonFlag(config, mode.member, false)) continue;
    ++count;
    type = mode.type;
  }
  if (count == 1 && type) return *type;
  return Status(ErrorCode::kUnsupported,
                name +
                    ": expected one of pooling_mode_cls_token, pooling_mode_mean_tokens and "
                    "pooling_mode_lasttoken to be true");
}

// The sizes of one matrix. What else a step may do to a vector no family has.
Status WriteProjection(const std::string& folder, const std::string& path, size_t number,
                       KeyWriter* keys) {
  const std::string name = path + "/config.json";
  ASSIGN_OR_RETURN(const JsonTree config, ReadTree(folder, name));
  const bool is_plain = !JsonFlag(config.root(), "bias", true) &&
                        JsonText(config.root(), "activation_function").ends_with(".Identity");
  if (!is_plain)
    return Status(ErrorCode::kUnsupported,
                  name + ": expected 'bias' to be false and 'activation_function' to be Identity");
  for (const auto& [member, key] : {std::pair("in_features", "in"), {"out_features", "out"}}) {
    const std::optional<JsonValue> size = config.root().Find(member);
    const std::optional<int64_t> value = size ? size->AsInt() : std::nullopt;
    if (!value)
      return Status(ErrorCode::kBadModel, fmt::format("{}: '{}' is no integer", name, member));
    keys->Int(fmt::format("dense_{}_feat_{}", number, key), *value);
  }
  return Ok();
}

}  // namespace

void WritePoolingType(PoolingType type, KeyWriter* keys) {
  keys->Int("pooling_type", static_cast<int64_t>(type));
}

Result<std::vector<std::string>> WritePooling(const std::string& folder,
                                              const Architecture& architecture, KeyWriter* keys) {
  ASSIGN_OR_RETURN(const std::optional<JsonTree> modules, ReadTreeIfThere(folder, kModules));
  if (!modules) return std::vector<std::string>();
  ASSIGN_OR_RETURN(Steps steps, ReadSteps(modules->root(), architecture));
  if (!steps.pooling.empty()) {
    const std::string name = steps.pooling + "/config.json";
    ASSIGN_OR_RETURN(const JsonTree config, ReadTree(folder, name));
    ASSIGN_OR_RETURN(const PoolingType type, ReadMode(config.root(), name));
    WritePoolingType(type, keys);
  }
  for (size_t i = 0; i < steps.projections.size(); ++i)
    RETURN_IF_ERROR(WriteProjection(folder, steps.projections[i], kFirstProjection + i, keys));
  return std::move(steps.projections);
}

}  // namespace skald::huggingface
