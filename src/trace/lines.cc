#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/json_tree.h"
#include "base/json_writer.h"
#include "base/status_macros.h"
#include "skald/trace.h"
#include "trace/shapes.h"

namespace skald {
namespace {

using trace::Shape;
using trace::Words;

Status Bad(const std::string& what) { return Status(ErrorCode::kInvalidArgument, what); }

// ---- values out

void Put(JsonWriter& json, const std::string& text) { json.String(text); }
void Put(JsonWriter& json, const TraceName& name) { json.String(name.view()); }
void Put(JsonWriter& json, double number) { json.Double(number); }
void Put(JsonWriter& json, bool value) { json.Bool(value); }
void Put(JsonWriter& json, uint64_t number) { json.Uint(number); }

template <typename T>
requires std::is_integral_v<T>
void Put(JsonWriter& json, T number) { json.Int(number); }

template <typename Enum>
requires std::is_enum_v<Enum>
void Put(JsonWriter& json, Enum value) {
  json.String(Words<Enum>::kWords[static_cast<size_t>(value)]);
}

template <typename Id, size_t kRoom>
void Put(JsonWriter& json, const TraceList<Id, kRoom>& list) {
  json.BeginArray();
  for (size_t i = 0; i < list.count; ++i) json.Int(list.ids[i]);
  json.EndArray();
}

template <typename Owner>
void PutFields(JsonWriter& json, const Owner& owner) {
  const auto put = [&](const auto& field) {
    json.Key(field.name);
    Put(json, owner.*field.member);
  };
  std::apply([&](const auto&... field) { (put(field), ...); }, Shape<Owner>::kFields);
}

// ---- values in. False: another kind of value, or one that does not fit.

bool Get(const JsonValue& value, std::string* text) {
  const auto found = value.AsString();
  if (found) text->assign(*found);
  return found.has_value();
}

bool Get(const JsonValue& value, TraceName* name) {
  const auto found = value.AsString();
  if (found) *name = TraceName(*found);
  return found.has_value();
}

bool Get(const JsonValue& value, double* number) {
  if (value.kind() == JsonKind::kNull) *number = kTraceUnknown;
  if (value.kind() == JsonKind::kNull) return true;
  const auto found = value.AsNumber();
  if (found) *number = *found;
  return found.has_value();
}

bool Get(const JsonValue& value, bool* flag) {
  const auto found = value.AsBool();
  if (found) *flag = *found;
  return found.has_value();
}

bool Get(const JsonValue& value, uint64_t* number) {
  const std::string digits = value.NumberText();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  return error == std::errc() && end == digits.data() + digits.size();
}

template <typename T>
requires std::is_integral_v<T>
bool Get(const JsonValue& value, T* number) {
  const auto found = value.AsInt();
  if (!found || *found < std::numeric_limits<T>::min() || *found > std::numeric_limits<T>::max())
    return false;
  *number = static_cast<T>(*found);
  return true;
}

template <typename Enum>
requires std::is_enum_v<Enum>
bool Get(const JsonValue& value, Enum* member) {
  const auto word = value.AsString();
  if (!word) return false;
  const auto& words = Words<Enum>::kWords;
  const auto found = std::find(words.begin(), words.end(), *word);
  if (found == words.end()) return false;
  *member = static_cast<Enum>(found - words.begin());
  return true;
}

template <typename Id, size_t kRoom>
bool Get(const JsonValue& value, TraceList<Id, kRoom>* list) {
  if (!value.IsArray() || value.size() > kRoom) return false;
  for (const JsonValue element : value) {
    if (!Get(element, &list->ids[list->count])) return false;
    ++list->count;
  }
  return true;
}

// `context` is what the object is called.
template <typename T>
Status GetMember(const JsonValue& object, std::string_view context, std::string_view name,
                 T* target) {
  const auto value = object.Find(name);
  if (!value) return Bad(std::string(context) + ": no field '" + std::string(name) + "'");
  if (Get(*value, target)) return Ok();
  return Bad(std::string(context) + ": the field '" + std::string(name) +
             "' has no such value, see docs/trace.md");
}

template <typename Owner>
Status GetFields(const JsonValue& object, Owner* owner) {
  Status status;
  const auto get = [&](const auto& field) {
    if (status.ok())
      status = GetMember(object, Shape<Owner>::kName, field.name, &(owner->*field.member));
  };
  std::apply([&](const auto&... field) { (get(field), ...); }, Shape<Owner>::kFields);
  return status;
}

// ---- the variant

template <size_t kIndex = 0>
Result<bool> GetBody(const JsonValue& object, std::string_view name, TraceBody* body) {
  if constexpr (kIndex == std::variant_size_v<TraceBody>) {
    return false;
  } else {
    using Body = std::variant_alternative_t<kIndex, TraceBody>;
    if (Shape<Body>::kName != name) return GetBody<kIndex + 1>(object, name, body);
    RETURN_IF_ERROR(GetFields(object, &body->emplace<Body>()));
    return true;
  }
}

Result<JsonTree> ParseObject(std::string_view line) {
  Result<JsonTree> tree = JsonTree::Parse(line, {.depth = 4, .number_texts = true});
  if (!tree.ok()) return Bad(tree.status().message());
  if (!tree->root().IsObject()) return Bad("no JSON object");
  return tree;
}

Result<std::string> EventOf(const JsonValue& object) {
  std::string name;
  RETURN_IF_ERROR(GetMember(object, "no line of a record", "event", &name));
  return name;
}

bool GetTexts(const JsonValue& array, std::vector<std::string>* texts) {
  if (!array.IsArray()) return false;
  for (const JsonValue element : array) {
    if (!Get(element, &texts->emplace_back())) return false;
  }
  return true;
}

Status GetTextsOf(const JsonValue& object, TraceRecord* record) {
  if (const auto texts = object.Find("texts"); texts && !GetTexts(*texts, &record->texts))
    return Bad("the field 'texts' is no list of texts");
  return Ok();
}

}  // namespace

std::string_view TraceEventName(const TraceEvent& event) {
  return std::visit([]<typename Body>(const Body&) { return Shape<Body>::kName; }, event.body);
}

std::string_view RowReasonName(RowReason reason) {
  return trace::Words<RowReason>::kWords[static_cast<size_t>(reason)];
}

std::string TraceHeaderLine(const TraceHeader& header) {
  JsonWriter json;
  json.BeginObject().Key("event").String(Shape<TraceHeader>::kName);
  PutFields(json, header);
  json.EndObject();
  return json.Take();
}

std::string TraceLine(const TraceEvent& event, std::span<const std::string> texts) {
  JsonWriter json;
  json.BeginObject().Key("event").String(TraceEventName(event));
  json.Key("time").Double(event.seconds);
  if (event.request != 0) {
    json.Key("request").Uint(event.request).Key("sequence").Int(event.sequence);
  }
  std::visit([&](const auto& body) { PutFields(json, body); }, event.body);
  if (!texts.empty()) {
    json.Key("texts").BeginArray();
    for (const std::string& text : texts) json.String(text);
    json.EndArray();
  }
  json.EndObject();
  return json.Take();
}

Result<TraceHeader> ParseTraceHeader(std::string_view line) {
  ASSIGN_OR_RETURN(const JsonTree tree, ParseObject(line));
  ASSIGN_OR_RETURN(const std::string name, EventOf(tree.root()));
  if (name != Shape<TraceHeader>::kName)
    return Bad("a record begins with a line whose event is 'trace', found '" + name + "'");
  TraceHeader header;
  // Before all other fields: another version may have others.
  RETURN_IF_ERROR(GetMember(tree.root(), name, "version", &header.version));
  if (header.version != kTraceVersion)
    return Bad("version " + std::to_string(header.version) + " of the record, expected " +
               std::to_string(kTraceVersion));
  RETURN_IF_ERROR(GetFields(tree.root(), &header));
  return header;
}

Result<std::optional<TraceRecord>> ParseTraceLine(std::string_view line) {
  ASSIGN_OR_RETURN(const JsonTree tree, ParseObject(line));
  const JsonValue root = tree.root();
  ASSIGN_OR_RETURN(const std::string name, EventOf(root));
  TraceRecord record;
  RETURN_IF_ERROR(GetMember(root, name, "time", &record.event.seconds));
  if (!std::isfinite(record.event.seconds) || std::abs(record.event.seconds) > 1e12)
    return Bad(name + ": the field 'time' is no number of seconds");
  if (root.Find("request")) {
    RETURN_IF_ERROR(GetMember(root, name, "request", &record.event.request));
    RETURN_IF_ERROR(GetMember(root, name, "sequence", &record.event.sequence));
  }
  RETURN_IF_ERROR(GetTextsOf(root, &record));
  ASSIGN_OR_RETURN(const bool known, GetBody(root, name, &record.event.body));
  if (!known) return std::optional<TraceRecord>();
  return std::optional<TraceRecord>(std::move(record));
}

}  // namespace skald
