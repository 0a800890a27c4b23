#include "server/raw_member.h"

#include <boost/json/parse.hpp>
#include <cstddef>

namespace skald::server {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// The place behind the string that begins at `at`.
size_t BehindString(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

// The place behind the value that begins at `at`.
size_t BehindValue(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = BehindString(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') {
      if (depth == 0) return at;  // behind a number or word, at the end of what holds it
      if (--depth == 0) return at + 1;
    }
    if (depth == 0 && (c == ',' || kBlanks.find(c) != std::string_view::npos)) return at;
    ++at;
  }
  return at;
}

bool IsName(std::string_view literal, std::string_view name) {
  if (literal.find('\\') == std::string_view::npos)
    return literal.substr(1, literal.size() - 2) == name;
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(literal, error);
  return !error && value.is_string() && value.get_string() == name;
}

}  // namespace

std::string_view RawMember(std::string_view object, std::string_view name) {
  size_t at = object.find('{');
  while (at < object.size()) {
    at = object.find_first_of("\"}", at);
    if (at >= object.size() || object[at] == '}') return {};
    const size_t behind_key = BehindString(object, at);
    const std::string_view key = object.substr(at, behind_key - at);
    const size_t colon = object.find(':', behind_key);
    const size_t begin = object.find_first_not_of(kBlanks, colon + 1);
    if (colon >= object.size() || begin >= object.size()) return {};
    const size_t end = BehindValue(object, begin);
    if (IsName(key, name)) return object.substr(begin, end - begin);
    at = end;
  }
  return {};
}

std::vector<std::string_view> RawElements(std::string_view array) {
  std::vector<std::string_view> elements;
  if (!array.starts_with('[')) return elements;
  size_t at = 1;
  while ((at = array.find_first_not_of(" \t\r\n,", at)) != std::string_view::npos &&
         array[at] != ']') {
    const size_t end = BehindValue(array, at);
    elements.push_back(array.substr(at, end - at));
    at = end;
  }
  return elements;
}

}  // namespace skald::server
