/// SchemaDocument: a JSON Schema as it was written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.h"
#include "skald/status.h"

namespace skald::grammar {

/// The members or elements of a value.
std::vector<JsonValue> Inside(JsonValue value);

class SchemaDocument {
 public:
  /// Errors: kInvalidArgument if `text` is too long (kSchemaBytesMax), too deep (kNestingMax), no
  /// JSON, or has a key twice in one object.
  static Result<SchemaDocument> Read(std::string_view text);

  JsonValue root() const { return tree_->root(); }

  /// Where `value` stands: "#/properties/a". Linear in what stands on the way.
  std::string Pointer(JsonValue value) const;
  /// "POINTER: problem", of a value or of a name below it.
  Status Error(ErrorCode code, JsonValue value, std::string_view problem) const;

  /// The member of that name. O(log n).
  std::optional<JsonValue> Member(JsonValue object, std::string_view name) const;

  /// What "#", "#/a/b" or "#anchor" names; nothing if that is not there or in another document.
  std::optional<JsonValue> Resolve(std::string_view reference) const;

 private:
  explicit SchemaDocument(JsonTree tree) : tree_(std::make_unique<JsonTree>(std::move(tree))) {}
  Status IndexNames();

  // By its own address, which values hold.
  std::unique_ptr<const JsonTree> tree_;
  // The members of each object, by name.
  std::map<uint32_t, std::vector<JsonValue>> names_;
  std::map<std::string, JsonValue, std::less<>> anchors_;
};

}  // namespace skald::grammar
