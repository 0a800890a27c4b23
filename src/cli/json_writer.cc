#include "cli/json_writer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "cli/utf8.h"

namespace skald::cli {

JsonWriter& JsonWriter::Begin(char bracket, Scope scope) {
  BeforeValue();
  out_ += bracket;
  open_.push_back({scope});
  return *this;
}

JsonWriter& JsonWriter::End(char bracket, Scope scope) {
  CHECK(!open_.empty() && open_.back().scope == scope && !open_.back().has_key);
  out_ += bracket;
  open_.pop_back();
  return *this;
}

void JsonWriter::BeforeValue() {
  if (open_.empty()) {
    CHECK(out_.empty());  // one document
    return;
  }
  Open& here = open_.back();
  if (here.scope == Scope::kObject) {
    CHECK(here.has_key);
    here.has_key = false;
    return;
  }
  if (!here.empty) out_ += ',';
  here.empty = false;
}

JsonWriter& JsonWriter::Key(std::string_view name) {
  CHECK(!open_.empty() && open_.back().scope == Scope::kObject && !open_.back().has_key);
  if (!open_.back().empty) out_ += ',';
  open_.back().empty = false;
  open_.back().has_key = true;
  Quote(name);
  out_ += ':';
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  BeforeValue();
  Quote(text);
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t number) {
  BeforeValue();
  out_ += fmt::format("{}", number);
  return *this;
}

JsonWriter& JsonWriter::Uint(uint64_t number) {
  BeforeValue();
  out_ += fmt::format("{}", number);
  return *this;
}

JsonWriter& JsonWriter::Double(double number) {
  if (!std::isfinite(number)) return Null();
  BeforeValue();
  // 24 characters hold any double: sign, 17 digits, point, "e-308".
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  CHECK(end.ec == std::errc());
  out_.append(digits.data(), end.ptr);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeforeValue();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeforeValue();
  out_ += "null";
  return *this;
}

std::string JsonWriter::Take() {
  CHECK(open_.empty());
  return std::exchange(out_, {});
}

void JsonWriter::Quote(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const Utf8Step step = NextUtf8(text);
    const char c = text.front();
    if (!step.valid)
      out_ += kReplacement;
    else if (c == '"' || c == '\\')
      (out_ += '\\') += c;
    else if (c == '\n')
      out_ += "\\n";
    else if (c == '\r')
      out_ += "\\r";
    else if (c == '\t')
      out_ += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20)
      out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out_ += text.substr(0, step.length);
    text.remove_prefix(step.length);
  }
  out_ += '"';
}

}  // namespace skald::cli
