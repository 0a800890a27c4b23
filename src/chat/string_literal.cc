#include "chat/string_literal.h"

#include <cstdint>

#include "base/status_macros.h"
#include "base/utf8.h"

namespace skald::chat {

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The code point of `digits` hexadecimal digits at the beginning of `rest`, which are taken away.
Result<uint32_t> TakeHex(std::string_view* rest, size_t digits) {
  uint32_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const int digit = i < rest->size() ? HexDigit((*rest)[i]) : -1;
    if (digit < 0) {
      return Status(ErrorCode::kBadModel,
                    "truncated escape; expected " + std::to_string(digits) + " hexadecimal digits");
    }
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  rest->remove_prefix(digits);
  return value;
}

bool IsHighSurrogate(uint32_t c) { return c >= 0xD800 && c < 0xDC00; }
bool IsLowSurrogate(uint32_t c) { return c >= 0xDC00 && c < 0xE000; }

Status AppendHex(std::string_view* rest, size_t digits, std::string* out) {
  ASSIGN_OR_RETURN(uint32_t c, TakeHex(rest, digits));
  if (IsHighSurrogate(c) && rest->starts_with("\\u")) {
    rest->remove_prefix(2);
    ASSIGN_OR_RETURN(const uint32_t low, TakeHex(rest, 4));
    if (IsLowSurrogate(low)) c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
  }
  if (c > 0x10FFFF || IsHighSurrogate(c) || IsLowSurrogate(c))
    return Status(ErrorCode::kBadModel, "an escape that is no character");
  AppendUtf8(c, out);
  return Ok();
}

// One to three octal digits, the first of which is `first`.
void AppendOctal(char first, std::string_view* rest, std::string* out) {
  uint32_t value = static_cast<uint32_t>(first - '0');
  for (int i = 0; i < 2 && !rest->empty() && rest->front() >= '0' && rest->front() <= '7'; ++i) {
    value = value << 3 | static_cast<uint32_t>(rest->front() - '0');
    rest->remove_prefix(1);
  }
  AppendUtf8(value, out);
}

}  // namespace

Status Unescape(std::string_view literal, std::string* out) {
  constexpr std::string_view kFrom = "\\'\"abfnrtv";
  constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
  while (!literal.empty()) {
    const char c = literal[0];
    literal.remove_prefix(1);
    if (c != '\\' || literal.empty()) {
      *out += c;
      continue;
    }
    const char escape = literal[0];
    literal.remove_prefix(1);
    if (const size_t known = kFrom.find(escape); known != std::string_view::npos) {
      *out += kTo[known];
    } else if (escape == 'x') {
      RETURN_IF_ERROR(AppendHex(&literal, 2, out));
    } else if (escape == 'u') {
      RETURN_IF_ERROR(AppendHex(&literal, 4, out));
    } else if (escape == 'U') {
      RETURN_IF_ERROR(AppendHex(&literal, 8, out));
    } else if (escape == 'N') {
      return Status(ErrorCode::kBadModel, "escapes by name are not supported; expected \\u");
    } else if (escape >= '0' && escape <= '7') {
      AppendOctal(escape, &literal, out);
    } else if (escape != '\n') {
      *out += '\\';
      *out += escape;
    }
  }
  return Ok();
}

}  // namespace skald::chat
