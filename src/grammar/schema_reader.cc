#include "grammar/schema_reader.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/status_macros.h"
#include "grammar/limits.h"
#include "grammar/regex.h"

namespace skald::grammar {

namespace {

// Keywords that say nothing of a value. (`x-...` neither.)
constexpr std::array<std::string_view, 20> kAnnotations = {
    "title",           "description",      "default",       "examples", "example",
    "deprecated",      "readOnly",         "writeOnly",     "$comment", "$schema",
    "contentEncoding", "contentMediaType", "contentSchema", "$defs",    "definitions",
    "$anchor",         "$dynamicAnchor",   "discriminator", "then",     "else"};

// Keywords that are known and not enforced.
constexpr std::array<std::string_view, 13> kRefused = {
    "not",         "if",          "dependentSchemas", "dependentRequired", "dependencies",
    "contains",    "minContains", "maxContains",      "$dynamicRef",       "$recursiveRef",
    "$vocabulary", "nullable",    "additionalItems"};

template <typename List>
bool Has(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::optional<Decimal> NumberOf(JsonValue value) {
  if (value.kind() != JsonKind::kInt && value.kind() != JsonKind::kDouble) return std::nullopt;
  return ParseDecimal(value.NumberText());
}

// A whole number from 0 on; one beyond 10^18 is the largest there is.
std::optional<uint64_t> CountOf(JsonValue value) {
  const std::optional<Decimal> number = NumberOf(value);
  if (!number.has_value() || number->negative || !number->IsWhole()) return std::nullopt;
  const std::optional<int64_t> whole = WholeValue(*number);
  return whole.has_value() ? static_cast<uint64_t>(*whole) : std::numeric_limits<uint64_t>::max();
}

void Raise(const NumberBound& bound, std::optional<NumberBound>* lower) {
  if (lower->has_value()) {
    const int order = Compare(bound.value, (*lower)->value);
    if (order < 0 || (order == 0 && !bound.exclusive)) return;
  }
  *lower = bound;
}

void Lower(const NumberBound& bound, std::optional<NumberBound>* upper) {
  if (upper->has_value()) {
    const int order = Compare(bound.value, (*upper)->value);
    if (order > 0 || (order == 0 && !bound.exclusive)) return;
  }
  *upper = bound;
}

struct NamedType {
  std::string_view name;
  uint8_t type;
};
constexpr std::array<NamedType, 7> kTypes = {{{"null", kNullType},
                                              {"boolean", kBooleanType},
                                              {"integer", kNumberType},
                                              {"number", kNumberType},
                                              {"string", kStringType},
                                              {"array", kArrayType},
                                              {"object", kObjectType}}};

void Tighten(uint64_t count, bool is_min, uint64_t* min, uint64_t* max) {
  if (is_min)
    *min = std::max(*min, count);
  else
    *max = std::min(*max, count);
}

}  // namespace

Status SchemaReader::Malformed(JsonValue value, std::string_view expected) const {
  return document_.Error(ErrorCode::kInvalidArgument, value,
                         "malformed; expected " + std::string(expected));
}

Status SchemaReader::LeaveOut(JsonValue value, std::string_view why) {
  if (mode_ == SchemaMode::kStrict) return document_.Error(ErrorCode::kUnsupported, value, why);
  const std::string pointer = document_.Pointer(value);
  if (!Has(left_out_, pointer)) left_out_.push_back(pointer);
  return Ok();
}

Status SchemaReader::CheckSchema(JsonValue value) const {
  if (value.IsObject() || value.kind() == JsonKind::kBool) return Ok();
  return Malformed(value, "a schema: an object, true or false");
}

Status SchemaReader::CheckSchemas(JsonValue list) const {
  if (!list.IsArray() || list.begin() == list.end()) return Malformed(list, "an array of schemas");
  for (const JsonValue schema : list) RETURN_IF_ERROR(CheckSchema(schema));
  return Ok();
}

Status SchemaReader::CheckNamedSchemas(JsonValue keyword) {
  if (!keyword.IsObject()) return Malformed(keyword, "an object of schemas");
  for (const JsonValue schema : keyword) RETURN_IF_ERROR(CheckSchema(schema));
  if (!counted_.insert(keyword.index()).second) return Ok();
  properties_ += keyword.size();
  if (properties_ <= kPropertiesMax) return Ok();
  return document_.Error(
      ErrorCode::kInvalidArgument, keyword,
      std::to_string(properties_) + " properties, at most " + std::to_string(kPropertiesMax));
}

Status SchemaReader::Merge(JsonValue schema, SchemaFacts* facts) {
  RETURN_IF_ERROR(CheckSchema(schema));
  entries_.clear();
  entries_.push_back({schema, std::nullopt});
  while (!entries_.empty()) {
    if (!entries_.back().begun) RETURN_IF_ERROR(Begin(&entries_.back(), facts));
    Entry& entry = entries_.back();
    if (entry.next == entry.keywords.size()) {
      entries_.pop_back();
      continue;
    }
    if (!fuel_.Spend(10)) return fuel_.Error();
    const JsonValue keyword = entry.keywords[entry.next++];
    RETURN_IF_ERROR(MergeKeyword(entry.schema, keyword, facts));  // may add entries
  }
  return Ok();
}

Status SchemaReader::Begin(Entry* entry, SchemaFacts* facts) {
  if (!fuel_.Spend(20)) return fuel_.Error();
  entry->begun = true;
  if (const std::optional<bool> all = entry->schema.AsBool(); all.has_value()) {
    facts->never |= !*all;
  } else if (facts->merged.insert(entry->schema.index()).second) {  // else it is said already
    entry->keywords = Inside(entry->schema);
  }
  return Ok();
}

Status SchemaReader::MergeKeyword(JsonValue schema, JsonValue keyword, SchemaFacts* facts) {
  const std::string_view name = keyword.name();
  if ((name == "$defs" || name == "definitions") && !keyword.IsObject())
    return Malformed(keyword, "an object of schemas");
  if (Has(kAnnotations, name) || name.starts_with("x-")) return Ok();
  if (name == "allOf" || name == "anyOf" || name == "oneOf" || name == "$ref")
    return MergeInPlace(keyword, facts);
  if (name == "type") return MergeTypes(keyword, facts);
  if (name == "format") return MergeFormat(keyword, facts);
  if (name == "pattern") return MergePattern(keyword, facts);
  if (name == "required") return MergeRequired(keyword, facts);
  if (name == "multipleOf") return MergeMultiple(keyword, facts);
  ASSIGN_OR_RETURN(bool known, MergeNumbers(keyword, facts));
  if (known) return Ok();
  ASSIGN_OR_RETURN(known, MergeCounts(keyword, facts));
  if (known) return Ok();
  ASSIGN_OR_RETURN(known, MergeStructure(schema, keyword, facts));
  if (known) return Ok();
  if (name == "$id" && schema.index() == 0) return Ok();
  if (name == "unevaluatedProperties" || name == "unevaluatedItems")
    return MergeUnevaluated(keyword);
  return LeaveOut(keyword, Has(kRefused, name) ? "is not supported" : "an unknown keyword");
}

Status SchemaReader::MergeInPlace(JsonValue keyword, SchemaFacts* facts) {
  if (keyword.name() == "$ref") return MergeReference(keyword, facts);
  RETURN_IF_ERROR(CheckSchemas(keyword));
  if (keyword.name() != "allOf") {
    facts->choices.push_back(keyword);
    return Ok();
  }
  std::vector<JsonValue> schemas = Inside(keyword);
  std::reverse(schemas.begin(), schemas.end());  // the last entry is read first
  for (const JsonValue schema : schemas) entries_.push_back({schema, std::nullopt});
  return Ok();
}

Status SchemaReader::MergeReference(JsonValue keyword, SchemaFacts* facts) {
  const std::optional<std::string_view> reference = keyword.AsString();
  if (!reference.has_value()) return Malformed(keyword, "a text");
  if (!reference->starts_with('#'))
    return LeaveOut(keyword, "refers to another document, and nothing is fetched");
  if (!fuel_.Spend(static_cast<int64_t>(reference->size()))) return fuel_.Error();
  const std::optional<JsonValue> target = document_.Resolve(*reference);
  if (!target.has_value()) return Malformed(keyword, "what is there: this refers to nothing");
  if (!target->IsObject() && target->kind() != JsonKind::kBool)
    return Malformed(keyword, "what is a schema: this refers to another thing");
  if (++facts->references > kReferencesMax)
    return document_.Error(
        ErrorCode::kInvalidArgument, keyword,
        "more than " + std::to_string(kReferencesMax) + " references that lead to one value");
  RETURN_IF_ERROR(CheckCircle(keyword, *target));
  entries_.push_back({*target, keyword});
  return Ok();
}

// A circle is named by the first reference that leads into it.
Status SchemaReader::CheckCircle(JsonValue keyword, JsonValue target) const {
  std::optional<JsonValue> first;
  for (const Entry& entry : entries_) {
    if (!entry.begun) continue;  // not above, but still to come
    if (!first.has_value()) first = entry.reference;
    if (entry.schema.index() == target.index())
      return document_.Error(ErrorCode::kInvalidArgument, first.value_or(keyword),
                             "a circular reference");
  }
  return Ok();
}

Status SchemaReader::MergeTypes(JsonValue keyword, SchemaFacts* facts) {
  constexpr std::string_view kExpected =
      "null, boolean, integer, number, string, array, object, or a list of these";
  std::vector<JsonValue> names;
  if (keyword.IsString()) names.push_back(keyword);
  for (const JsonValue name : keyword) names.push_back(name);
  if (names.empty() || keyword.IsObject()) return Malformed(keyword, kExpected);
  uint8_t types = 0;
  bool whole = false;
  bool fraction = false;
  for (const JsonValue name : names) {
    const auto known = std::find_if(kTypes.begin(), kTypes.end(), [&](const NamedType& type) {
      return name.AsString() == type.name;
    });
    if (known == kTypes.end()) return Malformed(keyword, kExpected);
    types |= known->type;
    whole |= known->name == "integer";
    fraction |= known->name == "number";
  }
  facts->types &= types;
  facts->range.whole |= whole && !fraction;
  return Ok();
}

Status SchemaReader::MergeFormat(JsonValue keyword, SchemaFacts* facts) {
  const std::optional<std::string_view> format = keyword.AsString();
  if (!format.has_value()) return Malformed(keyword, "a text");
  if (*format == "password" || *format == "float" || *format == "double") return Ok();
  if (*format == "int32" || *format == "int64") {
    const bool is_int32 = *format == "int32";
    Raise({*ParseDecimal(is_int32 ? "-2147483648" : "-9223372036854775808")}, &facts->range.lower);
    Lower({*ParseDecimal(is_int32 ? "2147483647" : "9223372036854775807")}, &facts->range.upper);
    return Ok();
  }
  if (FormatPattern(*format).empty())
    return LeaveOut(keyword, "the format '" + std::string(*format) + "' is not supported");
  facts->formats.push_back(keyword);
  return Ok();
}

Status SchemaReader::MergePattern(JsonValue keyword, SchemaFacts* facts) {
  const std::optional<std::string_view> pattern = keyword.AsString();
  if (!pattern.has_value()) return Malformed(keyword, "a regular expression");
  if (!fuel_.Spend(4 * static_cast<int64_t>(pattern->size()))) return fuel_.Error();
  const Result<Expression> parsed = ParseRegex(*pattern);
  if (!parsed.ok()) {
    if (parsed.status().code() == ErrorCode::kUnsupported)
      return LeaveOut(keyword, parsed.status().message());
    return document_.Error(ErrorCode::kInvalidArgument, keyword, parsed.status().message());
  }
  facts->patterns.push_back(keyword);
  return Ok();
}

Status SchemaReader::MergeRequired(JsonValue keyword, SchemaFacts* facts) {
  if (!keyword.IsArray()) return Malformed(keyword, "an array of names");
  for (const JsonValue name : keyword) {
    if (!name.IsString()) return Malformed(name, "a name");
    if (!fuel_.Spend(1)) return fuel_.Error();
    facts->required.push_back(name);
  }
  return Ok();
}

Status SchemaReader::MergeMultiple(JsonValue keyword, SchemaFacts* facts) {
  constexpr int64_t kMultipleMax = 1000;
  const std::optional<Decimal> number = NumberOf(keyword);
  if (!number.has_value() || number->negative || number->IsZero())
    return Malformed(keyword, "a number above 0");
  const std::optional<int64_t> whole = WholeValue(*number);
  const int64_t both =
      whole.has_value() && *whole <= kMultipleMax ? std::lcm(facts->range.multiple_of, *whole) : 0;
  if (both == 0 || both > kMultipleMax)
    return LeaveOut(keyword, "only whole numbers up to " + std::to_string(kMultipleMax) +
                                 " are supported, several of them up to that multiple");
  facts->range.multiple_of = both;
  facts->range.whole = true;
  return Ok();
}

Result<bool> SchemaReader::MergeNumbers(JsonValue keyword, SchemaFacts* facts) {
  const std::string_view name = keyword.name();
  const bool lower = name == "minimum" || name == "exclusiveMinimum";
  const bool upper = name == "maximum" || name == "exclusiveMaximum";
  if (!lower && !upper) return false;
  std::optional<Decimal> number = NumberOf(keyword);
  if (!number.has_value()) return Malformed(keyword, "a number");
  const NumberBound bound{*std::move(number), name.starts_with("exclusive")};
  if (lower)
    Raise(bound, &facts->range.lower);
  else
    Lower(bound, &facts->range.upper);
  return true;
}

Result<bool> SchemaReader::MergeCounts(JsonValue keyword, SchemaFacts* facts) {
  const std::string_view name = keyword.name();
  const bool is_min = name.starts_with("min");
  if (!is_min && !name.starts_with("max")) return false;
  const std::string_view what = name.substr(3);
  if (what != "Length" && what != "Items" && what != "Properties") return false;
  const std::optional<uint64_t> count = CountOf(keyword);
  if (!count.has_value()) return Malformed(keyword, "a whole number from 0 on");
  if (is_min && *count > kLeastMax)
    return document_.Error(
        ErrorCode::kInvalidArgument, keyword,
        std::string(keyword.NumberText()) + ", at most " + std::to_string(kLeastMax));
  if (what == "Length") Tighten(*count, is_min, &facts->length.min, &facts->length.max);
  if (what == "Items") Tighten(*count, is_min, &facts->items.min, &facts->items.max);
  if (what == "Properties") Tighten(*count, is_min, &facts->properties.min, &facts->properties.max);
  return true;
}

Result<bool> SchemaReader::MergeStructure(JsonValue schema, JsonValue keyword, SchemaFacts* facts) {
  const std::string_view name = keyword.name();
  const auto add_once = [&](std::vector<JsonValue>* list) {
    if (list->empty() || list->back().index() != schema.index()) list->push_back(schema);
  };
  if (name == "enum") {
    if (!keyword.IsArray()) return Malformed(keyword, "an array");
    if (counted_.insert(keyword.index()).second) enum_values_ += keyword.size();
    if (enum_values_ > kEnumValuesMax)
      return document_.Error(ErrorCode::kInvalidArgument, keyword,
                             std::to_string(enum_values_) + " values of enum, at most " +
                                 std::to_string(kEnumValuesMax));
    facts->values.push_back(keyword);
  } else if (name == "const") {
    facts->values.push_back(keyword);
  } else if (name == "properties" || name == "patternProperties") {
    RETURN_IF_ERROR(CheckNamedSchemas(keyword));
    add_once(&facts->objects);
  } else if (name == "additionalProperties") {
    RETURN_IF_ERROR(CheckSchema(keyword));
    add_once(&facts->objects);
  } else if (name == "propertyNames") {
    RETURN_IF_ERROR(CheckSchema(keyword));
    facts->names.push_back(keyword);
  } else if (name == "items") {
    if (keyword.IsArray())
      return document_.Error(ErrorCode::kUnsupported, keyword,
                             "a list is not supported; draft 2020-12 calls it prefixItems");
    RETURN_IF_ERROR(CheckSchema(keyword));
    add_once(&facts->arrays);
  } else if (name == "prefixItems") {
    RETURN_IF_ERROR(CheckSchemas(keyword));
    add_once(&facts->arrays);
  } else if (name == "uniqueItems") {
    const std::optional<bool> unique = keyword.AsBool();
    if (!unique.has_value()) return Malformed(keyword, "true or false");
    if (*unique) RETURN_IF_ERROR(LeaveOut(keyword, "is not supported"));
  } else {
    return false;
  }
  return true;
}

Status SchemaReader::MergeUnevaluated(JsonValue keyword) {
  RETURN_IF_ERROR(CheckSchema(keyword));
  if (keyword.AsBool() == true) return Ok();
  return LeaveOut(keyword, "is not supported; write additionalProperties or items");
}

}  // namespace skald::grammar
