/// Config: a folder's config.json, as typed members.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/json_tree.h"
#include "skald/status.h"

namespace skald::huggingface {

/// What one kind of model calls a member that others call `usual`.
struct MemberName {
  std::string_view usual;
  std::string_view own;
};

/// The members of one JSON object. A model of texts and pictures keeps those of its text half in an
/// inner object (`text_config`): they come before those around them. A member that is null is none.
/// Errors are kBadModel and name the member. A view: valid as long as the document.
class Config {
 public:
  /// Errors: kBadModel if the document is no JSON object.
  static Result<Config> Of(const JsonTree& document);

  /// Members are asked for by their usual names, and found under these. `names` outlives all uses.
  void Rename(std::span<const MemberName> names) { names_ = names; }

  /// The value, or nothing if there is none.
  std::optional<JsonValue> Find(std::string_view name) const;
  bool Contains(std::string_view name) const { return Find(name).has_value(); }

  /// Whether the class that it was published for ends so ("ForSequenceClassification").
  bool IsClass(std::string_view ending) const;

  Result<int64_t> Int(std::string_view name) const;
  Result<double> Number(std::string_view name) const;
  Result<std::string_view> Text(std::string_view name) const;

  // As above, but `fallback` where there is no such member.
  Result<int64_t> IntOr(std::string_view name, int64_t fallback) const;
  Result<double> NumberOr(std::string_view name, double fallback) const;
  Result<bool> FlagOr(std::string_view name, bool fallback) const;
  Result<std::string_view> TextOr(std::string_view name, std::string_view fallback) const;

 private:
  Config(JsonValue root, JsonValue inner) : root_(root), inner_(inner) {}

  JsonValue root_;
  JsonValue inner_;  // text_config, or the root
  std::span<const MemberName> names_ = {};
};

/// "config.json: 'NAME' PROBLEM", of kind `code`.
Status ConfigError(std::string_view name, std::string_view problem,
                   ErrorCode code = ErrorCode::kBadModel);

}  // namespace skald::huggingface
