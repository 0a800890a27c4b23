#include "server/grammar_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "server/raw_member.h"

namespace skald::server {

namespace {

namespace json = boost::json;

constexpr std::string_view kAnyObject = R"({"type":"object"})";

// Of vLLM's: each is one kind of grammar.
struct VllmName {
  std::string_view name;    // in structured_outputs
  std::string_view guided;  // before
  GrammarKind kind;
};
constexpr VllmName kVllmNames[] = {{"json", "guided_json", GrammarKind::kJsonSchema},
                                   {"regex", "guided_regex", GrammarKind::kRegex},
                                   {"grammar", "guided_grammar", GrammarKind::kGbnf}};

class Reader {
 public:
  explicit Reader(Fields& fields) : fields_(fields) {}

  std::optional<GrammarSource> Read() {
    if (const json::value* format = fields_.Any("response_format")) ReadResponseFormat(*format);
    if (const json::value* outputs = Wanted("structured_outputs")) ReadStructured(*outputs);
    for (const VllmName& each : kVllmNames) {
      const auto says_no = each.kind == GrammarKind::kJsonSchema ? SaysNoSchema : SaysNo;
      if (const json::value* value = Wanted(each.guided, says_no))
        Take(each.kind, {std::string(each.guided)}, *value);
    }
    if (const json::value* choice = Wanted("guided_choice")) TakeChoice({"guided_choice"}, *choice);
    if (const json::value* grammar = Wanted("grammar"))
      Take(GrammarKind::kGbnf, {"grammar"}, *grammar);
    if (const json::value* schema = Wanted("json_schema", SaysNoSchema))
      Take(GrammarKind::kJsonSchema, {"json_schema"}, *schema);
    return std::move(source_);
  }

 private:
  using Path = std::vector<std::string>;

  const json::value* Wanted(std::string_view name, bool (*says_no)(const json::value&) = SaysNo) {
    const json::value* value = fields_.Any(name);
    return value == nullptr || says_no(*value) ? nullptr : value;
  }

  void Fail(const Path& path, std::string_view expected, const json::value& found) {
    fields_.Fail(BadRequest(path.front(), fmt::format("{} is {}, expected {}", fmt::join(path, "."),
                                                      Shown(found), expected)));
  }

  void Set(GrammarSource source) {
    if (source_) {
      const std::string& second = source.path.front();
      fields_.Fail(BadRequest(second, fmt::format("{} beside {}: an answer has one grammar", second,
                                                  source_->path.front())));
    }
    source_ = std::move(source);
  }

  // A schema is an object, a boolean, or the text of one; the others are texts.
  void Take(GrammarKind kind, Path path, const json::value& value) {
    const json::string* text = value.if_string();
    const bool is_schema = kind == GrammarKind::kJsonSchema;
    const bool is_raw = is_schema && (value.is_object() || value.is_bool());
    if (text == nullptr && !is_raw)
      return Fail(path, is_schema ? "a JSON schema" : "a string", value);
    Set({.kind = kind,
         .text = text == nullptr ? std::string() : std::string(*text),
         .path = std::move(path),
         .is_raw = is_raw});
  }

  void TakeChoice(Path path, const json::value& value) {
    const json::array* list = value.if_array();
    const bool good = list != nullptr && !list->empty() && list->size() <= kMaxGrammarChoices &&
                      std::all_of(list->begin(), list->end(),
                                  [](const json::value& each) { return each.is_string(); });
    if (!good) {
      return Fail(path, fmt::format("an array of 1 to {} strings", kMaxGrammarChoices), value);
    }
    std::string rule = "root ::= ";
    for (const json::value& each : *list) {
      if (&each != &list->front()) rule += " | ";
      AppendLiteral(each.get_string(), &rule);
    }
    Set({.kind = GrammarKind::kGbnf, .text = std::move(rule), .path = std::move(path)});
  }

  static void AppendLiteral(std::string_view text, std::string* rule) {
    *rule += '"';
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte == 0x7F)
        *rule += fmt::format("\\x{:02X}", byte);
      else if (c == '"' || c == '\\')
        *rule += {'\\', c};
      else
        *rule += c;
    }
    *rule += '"';
  }

  void TakeAnyObject(Path path) { Set({.text = std::string(kAnyObject), .path = std::move(path)}); }

  void ReadResponseFormat(const json::value& value) {
    const json::object* format = value.if_object();
    const json::value* type = format == nullptr ? nullptr : format->if_contains("type");
    if (type == nullptr || !type->is_string())
      return Fail({"response_format"}, "an object with a type", value);
    const std::string_view name = type->get_string();
    if (name == "text") return;
    const json::value* schema = format->if_contains("schema");  // llama.cpp's place for it
    if (name == "json_schema" && schema == nullptr) return ReadNamedSchema(*format);
    if (name != "json_object" && name != "json_schema")
      return Fail({"response_format", "type"}, "text, json_object or json_schema", *type);
    if (schema == nullptr) return TakeAnyObject({"response_format"});
    Take(GrammarKind::kJsonSchema, {"response_format", "schema"}, *schema);
  }

  // {"name", "schema", "strict"}.
  void ReadNamedSchema(const json::object& format) {
    const json::value* named = format.if_contains("json_schema");
    const json::object* object = named == nullptr ? nullptr : named->if_object();
    const json::value* schema = object == nullptr ? nullptr : object->if_contains("schema");
    if (schema == nullptr) {
      return fields_.Fail(
          BadRequest("response_format",
                     "response_format.json_schema has no schema, expected {\"name\": ..., "
                     "\"schema\": {...}}"));
    }
    Take(GrammarKind::kJsonSchema, {"response_format", "json_schema", "schema"}, *schema);
    const json::value* strict = object->if_contains("strict");
    if (strict == nullptr || strict->is_null()) return;
    if (!strict->is_bool())
      return Fail({"response_format", "json_schema", "strict"}, "true or false", *strict);
    if (source_ && !strict->get_bool()) source_->options.mode = SchemaMode::kRelaxed;
  }

  void ReadStructured(const json::value& value) {
    const json::object* object = value.if_object();
    if (object == nullptr) return Fail({"structured_outputs"}, "an object", value);
    for (const auto& member : *object) {
      const bool is_off = member.value().is_null() || member.value() == false;
      if (!is_off) ReadStructuredMember(std::string(member.key()), member.value());
    }
    const json::value* tight = object->if_contains("disable_any_whitespace");
    if (source_ && tight != nullptr && *tight == true) source_->options.any_whitespace = false;
  }

  void ReadStructuredMember(const std::string& name, const json::value& value) {
    Path path = {"structured_outputs", name};
    for (const VllmName& each : kVllmNames)
      if (each.name == name) return Take(each.kind, std::move(path), value);
    if (name == "choice") return TakeChoice(std::move(path), value);
    if (name == "json_object" && value.is_bool()) return TakeAnyObject(std::move(path));
    // What it would fall back to is another backend; there is one here.
    if (name == "disable_fallback" || name == "disable_any_whitespace") {
      if (!value.is_bool()) Fail(path, "true or false", value);
      return;
    }
    fields_.Fail(
        Unsupported("structured_outputs",
                    fmt::format("structured_outputs.{} is not supported by this server; it has "
                                "json, regex, choice, grammar, json_object, disable_any_whitespace",
                                name)));
  }

  Fields& fields_;
  std::optional<GrammarSource> source_;
};

}  // namespace

std::optional<GrammarSource> ReadGrammarSource(Fields& fields) { return Reader(fields).Read(); }

void ReadNestedFormat(Fields& holder, std::vector<std::string> path,
                      std::optional<GrammarSource>* source) {
  const json::value* found = holder.Any("format");
  if (found == nullptr) return;
  const json::object* format = found->if_object();
  const json::value* type = format == nullptr ? nullptr : format->if_contains("type");
  if (type == nullptr || !type->is_string())
    return holder.Fail(WrongMember("format", found, "an object with a type"));
  if (*type == "text") return;
  if (*type == "json_object") {
    *source = GrammarSource{.text = std::string(kAnyObject), .path = std::move(path)};
    return;
  }
  if (*type != "json_schema")
    return holder.Fail(
        Unsupported("format", fmt::format("format is of type {}: text, json_object and json_schema "
                                          "are supported by this server",
                                          Shown(*type))));
  const json::value* schema = format->if_contains("schema");
  if (schema == nullptr || !(schema->is_object() || schema->is_bool()))
    return holder.Fail(WrongMember("format.schema", schema, "a JSON schema"));
  path.insert(path.end(), {"format", "schema"});
  const json::value* strict = format->if_contains("strict");
  if (strict != nullptr && !strict->is_bool() && !strict->is_null())
    return holder.Fail(WrongMember("format.strict", strict, "true or false"));
  const bool is_relaxed = strict != nullptr && *strict == false;
  *source =
      GrammarSource{.options = {.mode = is_relaxed ? SchemaMode::kRelaxed : SchemaMode::kStrict},
                    .path = std::move(path),
                    .is_raw = true};
}

void TakeRawText(std::string_view body, GrammarSource* source) {
  if (!std::exchange(source->is_raw, false)) return;
  for (const std::string& name : source->path) body = RawMember(body, name);
  source->text = body;
}

std::string PointerOf(const GrammarSource& source) {
  std::string pointer;
  for (const std::string& name : source.path) pointer += "/" + name;
  return pointer;
}

}  // namespace skald::server
