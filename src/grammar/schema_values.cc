#include "grammar/schema_values.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "grammar/text_rule.h"

namespace skald::grammar {

namespace {

uint64_t CharacterCount(std::string_view text) {
  return static_cast<uint64_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

// The listed values of one keyword.
std::vector<JsonValue> ValuesOf(JsonValue keyword) {
  if (keyword.name() == "const") return {keyword};
  return Inside(keyword);
}

class ValueFilter {
 public:
  ValueFilter(const SchemaFacts& facts, SchemaReader* reader) : facts_(facts), reader_(*reader) {}

  Status Prepare() {
    for (const auto* list : {&facts_.patterns, &facts_.formats}) {
      for (const JsonValue keyword : *list) {
        ASSIGN_OR_RETURN(Automaton automaton,
                         PatternAutomaton(keyword, TextSpelling::kJson, &reader_.fuel()));
        patterns_.push_back(std::move(automaton));
      }
    }
    return Ok();
  }

  Result<bool> Allows(JsonValue value) {
    if (!reader_.fuel().Spend(4)) return reader_.fuel().Error();
    const uint8_t type = TypeOf(value);
    if ((facts_.types & type) == 0) return false;
    const bool bound = (type == kArrayType && facts_.BindsArrays()) ||
                       (type == kObjectType && facts_.BindsObjects());
    if (bound)
      return reader_.document().Error(
          ErrorCode::kUnsupported, value,
          "an array or object among listed values, beside keywords that bind it");
    if (type == kNumberType) return IsInRange(facts_.range, *ParseDecimal(value.NumberText()));
    return type == kStringType ? AllowsText(*value.AsString()) : true;
  }

 private:
  bool AllowsText(std::string_view text) {
    const uint64_t count = CharacterCount(text);
    if (count < facts_.length.min || count > facts_.length.max) return false;
    const std::string quoted = Quoted(text);
    return std::all_of(patterns_.begin(), patterns_.end(),
                       [&](const Automaton& pattern) { return Takes(pattern, quoted); });
  }

  const SchemaFacts& facts_;
  SchemaReader& reader_;
  std::vector<Automaton> patterns_;
};

}  // namespace

uint8_t TypeOf(JsonValue value) {
  switch (value.kind()) {
    case JsonKind::kNull: return kNullType;
    case JsonKind::kBool: return kBooleanType;
    case JsonKind::kInt:
    case JsonKind::kDouble: return kNumberType;
    case JsonKind::kString: return kStringType;
    case JsonKind::kArray: return kArrayType;
    case JsonKind::kObject: return kObjectType;
  }
  return 0;
}

std::string ScalarText(JsonValue value) {
  if (value.IsString()) return Quoted(*value.AsString());
  if (const std::optional<bool> truth = value.AsBool(); truth.has_value())
    return *truth ? "true" : "false";
  if (value.kind() == JsonKind::kNull) return "null";
  const std::optional<Decimal> number = ParseDecimal(value.NumberText());
  return number.has_value() ? number->Text() : value.NumberText();
}

std::string CanonicalText(JsonValue value) {
  if (!value.IsArray() && !value.IsObject()) return ScalarText(value);
  std::vector<std::string> parts;
  for (const JsonValue inside : value)
    parts.push_back((value.IsObject() ? Quoted(inside.name()) + ":" : "") + CanonicalText(inside));
  if (value.IsObject()) std::sort(parts.begin(), parts.end());
  std::string text(1, value.IsObject() ? '{' : '[');
  for (const std::string& part : parts) text += part + ",";
  return text + (value.IsObject() ? '}' : ']');
}

Result<std::optional<std::vector<JsonValue>>> ListedValues(const SchemaFacts& facts,
                                                           SchemaReader* reader) {
  if (facts.values.empty()) return std::optional<std::vector<JsonValue>>();
  ValueFilter filter(facts, reader);
  RETURN_IF_ERROR(filter.Prepare());
  // Listed by every keyword, in the order of the first.
  std::map<std::string, size_t> lists;
  for (const JsonValue keyword : facts.values) {
    std::set<std::string> texts;
    for (const JsonValue value : ValuesOf(keyword)) texts.insert(CanonicalText(value));
    for (const std::string& text : texts) ++lists[text];
  }
  std::vector<JsonValue> allowed;
  for (const JsonValue value : ValuesOf(facts.values.front())) {
    const auto entry = lists.find(CanonicalText(value));
    if (entry->second != facts.values.size()) continue;
    entry->second = 0;  // once
    ASSIGN_OR_RETURN(const bool allows, filter.Allows(value));
    if (allows) allowed.push_back(value);
  }
  return std::optional(std::move(allowed));
}

bool Takes(const Automaton& automaton, std::string_view text) {
  uint32_t state = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    const std::vector<ByteEdge>& edges = automaton.states[state].bytes;
    const auto edge = std::find_if(edges.begin(), edges.end(), [&](const ByteEdge& e) {
      return e.low <= byte && byte <= e.high;
    });
    if (edge == edges.end()) return false;
    state = edge->target;
  }
  return automaton.states[state].accepting;
}

}  // namespace skald::grammar
