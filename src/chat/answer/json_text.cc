#include "chat/answer/json_text.h"

#include <boost/json/basic_parser_impl.hpp>
#include <cstdint>

#include "grammar/limits.h"

namespace skald::chat {

namespace {

// Takes everything: only whether the text is JSON is asked for.
struct Anything {
  static constexpr size_t max_object_size = SIZE_MAX;
  static constexpr size_t max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX;
  static constexpr size_t max_string_size = SIZE_MAX;

  using Code = boost::json::error_code;
  using View = boost::json::string_view;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(size_t, Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(size_t, Code&) { return true; }
  bool on_string_part(View, size_t, Code&) { return true; }
  bool on_string(View, size_t, Code&) { return true; }
  bool on_key_part(View, size_t, Code&) { return true; }
  bool on_key(View, size_t, Code&) { return true; }
  bool on_number_part(View, Code&) { return true; }
  bool on_int64(int64_t, View, Code&) { return true; }
  bool on_uint64(uint64_t, View, Code&) { return true; }
  bool on_double(double, View, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }
};

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// How Python spells what JSON spells otherwise.
std::string_view FromPython(std::string_view word) {
  if (word == "True") return "true";
  if (word == "False") return "false";
  return word == "None" ? "null" : word;
}

}  // namespace

void AppendJsonByte(char byte, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (byte) {
    case '"': *out += "\\\""; return;
    case '\\': *out += "\\\\"; return;
    case '\b': *out += "\\b"; return;
    case '\f': *out += "\\f"; return;
    case '\n': *out += "\\n"; return;
    case '\r': *out += "\\r"; return;
    case '\t': *out += "\\t"; return;
    default: break;
  }
  const auto code = static_cast<unsigned char>(byte);
  if (code >= 0x20) {
    *out += byte;
    return;
  }
  *out += "\\u00";
  *out += kHex[code >> 4];
  *out += kHex[code & 15];
}

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  for (const char byte : text) AppendJsonByte(byte, &json);
  return json += '"';
}

bool IsJson(std::string_view text) {
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = grammar::kTextDepthMax;
  boost::json::basic_parser<Anything> parser(options);
  const size_t read = parser.write_some(false, text.data(), text.size(), error);
  return !error && read == text.size();
}

std::string JsonOfBareValue(std::string_view text, ChatTool::Kind kind) {
  if (kind == ChatTool::Kind::kString) return JsonString(text);
  const std::string_view word = FromPython(WithoutBlanks(text));
  if (kind == ChatTool::Kind::kStringOrNull)
    return word == "null" ? std::string(word) : JsonString(text);
  return IsJson(word) ? std::string(word) : JsonString(text);
}

}  // namespace skald::chat
