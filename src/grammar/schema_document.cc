#include "grammar/schema_document.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "grammar/limits.h"

namespace skald::grammar {

namespace {

// How deep brackets are nested outside of strings, for text that may be no JSON.
size_t DepthOf(std::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

// 262,144
std::string Grouped(size_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

// A step of a pointer as it stands in one: ~ and / escaped.
std::string Step(std::string_view name) {
  std::string step = "/";
  for (const char c : name) {
    if (c == '~')
      step += "~0";
    else if (c == '/')
      step += "~1";
    else
      step += c;
  }
  return step;
}

std::optional<int> HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::optional<int> high = i + 2 < text.size() ? HexValue(text[i + 1]) : std::nullopt;
    const std::optional<int> low = i + 2 < text.size() ? HexValue(text[i + 2]) : std::nullopt;
    if (text[i] == '%' && high.has_value() && low.has_value()) {
      decoded += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

// A step of a pointer without its escapes.
std::string Unescaped(std::string_view step) {
  std::string name;
  for (size_t i = 0; i < step.size(); ++i) {
    const bool escape = step[i] == '~' && i + 1 < step.size();
    if (escape && step[i + 1] == '0') name += '~';
    if (escape && step[i + 1] == '1') name += '/';
    if (escape)
      ++i;
    else
      name += step[i];
  }
  return name;
}

std::optional<JsonValue> ElementAt(JsonValue array, std::string_view number) {
  size_t index = 0;
  if (number.empty() || number.size() > 6) return std::nullopt;
  for (const char c : number) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + static_cast<size_t>(c - '0');
  }
  for (const JsonValue element : array)
    if (index-- == 0) return element;
  return std::nullopt;
}

}  // namespace

std::vector<JsonValue> Inside(JsonValue value) {
  std::vector<JsonValue> inside;
  for (const JsonValue one : value) inside.push_back(one);
  return inside;
}

Result<SchemaDocument> SchemaDocument::Read(std::string_view text) {
  if (text.size() > kSchemaBytesMax)
    return Status(ErrorCode::kInvalidArgument, "the schema has " + Grouped(text.size()) +
                                                   " bytes, at most " + Grouped(kSchemaBytesMax));
  const size_t depth = DepthOf(text);
  if (depth > kSchemaDepthMax)
    return Status(ErrorCode::kInvalidArgument,
                  "nested " + Grouped(depth) + " deep, at most " + Grouped(kSchemaDepthMax));
  Result<JsonTree> tree = JsonTree::Parse(text, {.depth = kSchemaDepthMax, .number_texts = true});
  if (!tree.ok()) return Status(ErrorCode::kInvalidArgument, tree.status().message());
  SchemaDocument document(*std::move(tree));
  RETURN_IF_ERROR(document.IndexNames());
  return document;
}

Status SchemaDocument::IndexNames() {
  std::vector<JsonValue> open = {root()};
  while (!open.empty()) {
    const JsonValue value = open.back();
    open.pop_back();
    for (const JsonValue inside : value)
      if (inside.IsObject() || inside.IsArray()) open.push_back(inside);
    if (!value.IsObject()) continue;
    std::vector<JsonValue> members = Inside(value);
    std::sort(members.begin(), members.end(),
              [](const JsonValue& a, const JsonValue& b) { return a.name() < b.name(); });
    for (size_t i = 1; i < members.size(); ++i)
      if (members[i].name() == members[i - 1].name())
        return Error(ErrorCode::kInvalidArgument, members[i], "a key twice");
    const auto anchor = std::find_if(members.begin(), members.end(), [](const JsonValue& member) {
      return member.name() == "$anchor" && member.IsString();
    });
    if (anchor != members.end()) anchors_.emplace(*anchor->AsString(), value);
    names_.emplace(value.index(), std::move(members));
  }
  return Ok();
}

std::string SchemaDocument::Pointer(JsonValue value) const {
  std::string pointer = "#";
  JsonValue at = root();
  while (at.index() != value.index()) {
    // The last one inside that begins where the value does, or before.
    std::optional<JsonValue> next;
    size_t number = 0;
    size_t count = 0;
    for (const JsonValue inside : at) {
      if (inside.index() > value.index()) break;
      next = inside;
      number = count++;
    }
    if (!next.has_value()) return pointer;
    pointer += at.IsObject() ? Step(next->name()) : Step(std::to_string(number));
    at = *next;
  }
  return pointer;
}

Status SchemaDocument::Error(ErrorCode code, JsonValue value, std::string_view problem) const {
  return Status(code, Pointer(value) + ": " + std::string(problem));
}

std::optional<JsonValue> SchemaDocument::Member(JsonValue object, std::string_view name) const {
  const auto found = names_.find(object.index());
  if (found == names_.end()) return std::nullopt;
  const std::vector<JsonValue>& members = found->second;
  const auto member =
      std::lower_bound(members.begin(), members.end(), name,
                       [](const JsonValue& m, std::string_view n) { return m.name() < n; });
  if (member == members.end() || member->name() != name) return std::nullopt;
  return *member;
}

std::optional<JsonValue> SchemaDocument::Resolve(std::string_view reference) const {
  if (!reference.starts_with('#')) return std::nullopt;
  const std::string fragment = PercentDecoded(reference.substr(1));
  if (fragment.empty()) return root();
  if (fragment[0] != '/') {
    const auto anchor = anchors_.find(fragment);
    if (anchor == anchors_.end()) return std::nullopt;
    return anchor->second;
  }
  JsonValue at = root();
  for (size_t begin = 1; begin <= fragment.size();) {
    const size_t end = std::min(fragment.find('/', begin), fragment.size());
    const std::string step = Unescaped(std::string_view(fragment).substr(begin, end - begin));
    const std::optional<JsonValue> next = at.IsArray() ? ElementAt(at, step) : Member(at, step);
    if (!next.has_value()) return std::nullopt;
    at = *next;
    begin = end + 1;
  }
  return at;
}

}  // namespace skald::grammar
