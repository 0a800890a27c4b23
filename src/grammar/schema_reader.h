/// SchemaReader: from the keywords of schemas to facts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/fuel.h"
#include "grammar/schema_document.h"
#include "grammar/schema_facts.h"
#include "skald/grammar.h"
#include "skald/status.h"

namespace skald::grammar {

/// Reads each keyword exactly, refuses it, or knows that it says nothing. In relaxed mode what
/// cannot be kept is left out and named; what is malformed is an error all the same.
class SchemaReader {
 public:
  SchemaReader(const SchemaDocument& document, SchemaMode mode, Fuel* fuel)
      : document_(document), mode_(mode), fuel_(*fuel) {}

  /// Adds to `facts` what `schema` says, with all of `allOf` and `$ref`. Errors: kInvalidArgument
  /// for what is malformed, kUnsupported for what cannot be kept, both with its pointer; beyond a
  /// bound, or if the fuel ran dry.
  Status Merge(JsonValue schema, SchemaFacts* facts);

  /// In relaxed mode, names `value` as left out; else an error.
  Status LeaveOut(JsonValue value, std::string_view why);

  const SchemaDocument& document() const { return document_; }
  Fuel& fuel() { return fuel_; }
  /// Pointers of what was left out, each once.
  std::vector<std::string> TakeLeftOut() { return std::move(left_out_); }

 private:
  // A schema that is taken in. One that `allOf` or `$ref` brings comes before the keywords behind
  // these, so that properties keep the order of their first mention.
  struct Entry {
    JsonValue schema;
    std::optional<JsonValue> reference;  // the $ref that led here
    std::vector<JsonValue> keywords = {};
    size_t next = 0;  // keyword
    bool begun = false;
  };

  Status Begin(Entry* entry, SchemaFacts* facts);
  Status MergeKeyword(JsonValue schema, JsonValue keyword, SchemaFacts* facts);
  Status MergeInPlace(JsonValue keyword, SchemaFacts* facts);
  Status MergeReference(JsonValue keyword, SchemaFacts* facts);
  Status CheckCircle(JsonValue keyword, JsonValue target) const;
  Result<bool> MergeNumbers(JsonValue keyword, SchemaFacts* facts);
  Result<bool> MergeCounts(JsonValue keyword, SchemaFacts* facts);
  Result<bool> MergeStructure(JsonValue schema, JsonValue keyword, SchemaFacts* facts);
  Status MergeTypes(JsonValue keyword, SchemaFacts* facts);
  Status MergeFormat(JsonValue keyword, SchemaFacts* facts);
  Status MergePattern(JsonValue keyword, SchemaFacts* facts);
  Status MergeRequired(JsonValue keyword, SchemaFacts* facts);
  Status MergeMultiple(JsonValue keyword, SchemaFacts* facts);
  Status MergeUnevaluated(JsonValue keyword);
  Status CheckSchema(JsonValue value) const;
  Status CheckSchemas(JsonValue list) const;
  Status CheckNamedSchemas(JsonValue keyword);
  Status Malformed(JsonValue value, std::string_view expected) const;

  const SchemaDocument& document_;
  const SchemaMode mode_;
  Fuel& fuel_;
  std::vector<Entry> entries_;  // the one that is read last
  std::vector<std::string> left_out_;
  std::set<uint32_t> counted_;  // objects of properties and arrays of enum that were counted
  size_t properties_ = 0;
  size_t enum_values_ = 0;
};

}  // namespace skald::grammar
