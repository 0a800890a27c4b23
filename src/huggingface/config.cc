#include "huggingface/config.h"

#include <fmt/format.h>

#include "base/status_macros.h"
#include "formats/quote.h"

namespace skald::huggingface {

Status ConfigError(std::string_view name, std::string_view problem, ErrorCode code) {
  return Status(code, fmt::format("config.json: {} {}", formats::Quote(name), problem));
}

Result<Config> Config::Of(const JsonTree& document) {
  const JsonValue root = document.root();
  if (!root.IsObject()) return Status(ErrorCode::kBadModel, "config.json: expected a JSON object");
  const std::optional<JsonValue> inner = root.Find("text_config");
  return Config(root, inner && inner->IsObject() ? *inner : root);
}

std::optional<JsonValue> Config::Find(std::string_view name) const {
  for (const MemberName& member : names_) {
    if (member.usual != name) continue;
    name = member.own;
    break;
  }
  std::optional<JsonValue> value = inner_.Find(name);
  if (!value) value = root_.Find(name);
  if (value && value->kind() == JsonKind::kNull) return std::nullopt;
  return value;
}

bool Config::IsClass(std::string_view ending) const {
  const std::optional<JsonValue> classes = Find("architectures");
  if (!classes || !classes->IsArray() || classes->size() == 0) return false;
  return (*classes->begin()).AsString().value_or("").ends_with(ending);
}

Result<int64_t> Config::Int(std::string_view name) const {
  const std::optional<JsonValue> value = Find(name);
  if (!value) return ConfigError(name, "is missing");
  const std::optional<int64_t> number = value->AsInt();
  if (!number) return ConfigError(name, "is no integer");
  return *number;
}

Result<double> Config::Number(std::string_view name) const {
  const std::optional<JsonValue> value = Find(name);
  if (!value) return ConfigError(name, "is missing");
  const std::optional<double> number = value->AsNumber();
  if (!number) return ConfigError(name, "is no number");
  return *number;
}

Result<std::string_view> Config::Text(std::string_view name) const {
  const std::optional<JsonValue> value = Find(name);
  if (!value) return ConfigError(name, "is missing");
  const std::optional<std::string_view> text = value->AsString();
  if (!text) return ConfigError(name, "is no string");
  return *text;
}

Result<int64_t> Config::IntOr(std::string_view name, int64_t fallback) const {
  return Contains(name) ? Int(name) : fallback;
}

Result<double> Config::NumberOr(std::string_view name, double fallback) const {
  return Contains(name) ? Number(name) : fallback;
}

Result<bool> Config::FlagOr(std::string_view name, bool fallback) const {
  const std::optional<JsonValue> value = Find(name);
  if (!value) return fallback;
  const std::optional<bool> flag = value->AsBool();
  if (!flag) return ConfigError(name, "is neither true nor false");
  return *flag;
}

Result<std::string_view> Config::TextOr(std::string_view name, std::string_view fallback) const {
  return Contains(name) ? Text(name) : fallback;
}

}  // namespace skald::huggingface
