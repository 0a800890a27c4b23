#include "base/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"

namespace skald {

namespace {

template <typename Number>
void AppendNumber(Number number, std::string* out) {
  // 24 characters hold any double (sign, 17 digits, point, "e-308") and any 64-bit integer.
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  CHECK(end.ec == std::errc());
  out->append(digits.data(), end.ptr);
}

// Appends a character that may not stand in a string as it is: a quote, a backslash or a control.
void AppendEscaped(char c, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"': *out += "\\\""; return;
    case '\\': *out += "\\\\"; return;
    case '\n': *out += "\\n"; return;
    case '\r': *out += "\\r"; return;
    case '\t': *out += "\\t"; return;
    default: {
      const auto byte = static_cast<unsigned char>(c);
      *out += "\\u00";
      *out += kHex[byte >> 4];
      *out += kHex[byte & 15];
    }
  }
}

bool MustBeEscaped(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

// The same for text that is known to be well-formed, run by run.
void AppendWellFormed(std::string_view text, std::string* out) {
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!MustBeEscaped(text[i])) continue;
    out->append(text.substr(done, i - done));
    AppendEscaped(text[i], out);
    done = i + 1;
  }
  out->append(text.substr(done));
}

}  // namespace

void AppendJsonText(std::string_view text, std::string* out) {
  while (!text.empty()) {
    const size_t prefix = WellFormedPrefix(text);
    AppendWellFormed(text.substr(0, prefix), out);
    text.remove_prefix(prefix);
    if (text.empty()) return;
    out->append(kReplacementCharacter);
    text.remove_prefix(static_cast<size_t>(ReadUtf8(text).length));
  }
}

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

JsonWriter& JsonWriter::String(std::string_view escaped, std::string_view text) {
  BeforeValue();
  out_ += '"';
  out_ += escaped;
  AppendJsonText(text, &out_);
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::Int(int64_t number) {
  BeforeValue();
  AppendNumber(number, &out_);
  return *this;
}

JsonWriter& JsonWriter::Uint(uint64_t number) {
  BeforeValue();
  AppendNumber(number, &out_);
  return *this;
}

JsonWriter& JsonWriter::Double(double number) {
  if (!std::isfinite(number)) return Null();
  BeforeValue();
  AppendNumber(number, &out_);
  return *this;
}

JsonWriter& JsonWriter::Float(float number) {
  if (!std::isfinite(number)) return Null();
  BeforeValue();
  AppendNumber(number, &out_);
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

JsonWriter& JsonWriter::Json(std::string_view value) {
  CHECK(!value.empty());
  BeforeValue();
  out_ += value;
  return *this;
}

std::string JsonWriter::Take() {
  CHECK(open_.empty());
  return std::exchange(out_, {});
}

void JsonWriter::Quote(std::string_view text) {
  out_ += '"';
  AppendJsonText(text, &out_);
  out_ += '"';
}

}  // namespace skald
