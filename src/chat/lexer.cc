#include "chat/lexer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "chat/limits.h"
#include "chat/string_literal.h"
#include "chat/text.h"

namespace skald::chat {

namespace {

constexpr size_t kNowhere = std::string_view::npos;

// As Jinja: \r\n and \r are \n, and one newline at the end is not there.
std::string NormalizeNewlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
      continue;
    }
    text += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Where the white space at the end of text[0, end) begins.
size_t TrimmedEnd(std::string_view text) {
  size_t end = 0;
  for (Characters characters(text); characters.Next();)
    if (!IsSpace(characters.code_point())) end = characters.end();
  return end;
}

// Length of the white space at the beginning of `text`.
size_t SpaceLength(std::string_view text) {
  Characters characters(text);
  while (characters.Next())
    if (!IsSpace(characters.code_point())) return characters.begin();
  return text.size();
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<uint8_t>(c) >= 0x80;  // letters of any script; Jinja checks them, we need not
}
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(NormalizeNewlines(source)), rest_(source_) {}

  Result<std::vector<Token>> Run() {
    while (!rest_.empty()) {
      RETURN_IF_ERROR(Root());
      RETURN_IF_ERROR(CheckCount());
    }
    Add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  Status Error(std::string message) const {
    return Status(ErrorCode::kBadModel,
                  "chat template, line " + std::to_string(line_) + ": " + std::move(message));
  }
  Status CheckCount() const {
    if (tokens_.size() <= kMaxSourceTokens) return Ok();
    return Error("the template is too large: expected at most " + std::to_string(kMaxSourceTokens) +
                 " names, numbers and operators");
  }
  void Add(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }
  void Skip(size_t bytes) {
    const std::string_view skipped = rest_.substr(0, bytes);
    line_ += static_cast<int>(std::count(skipped.begin(), skipped.end(), '\n'));
    rest_.remove_prefix(bytes);
  }

  Status Root();
  Status Comment();
  Status Raw(size_t length);
  Status Tag(TokenKind end_kind);
  Status TagToken();
  Status Number();
  Status Operator();
  Status String();
  void Data(std::string_view data, char sign, bool variable);
  bool EndOfTag(TokenKind end_kind);
  // After "%}" or "#}": trim_blocks takes one newline, "-" all white space.
  void AfterTag(bool strips) {
    if (strips) {
      Skip(SpaceLength(rest_));
    } else if (rest_.starts_with('\n')) {
      Skip(1);
      at_line_start_ = true;
    }
  }

  const std::string source_;
  std::string_view rest_;
  int line_ = 1;
  bool at_line_start_ = true;
  std::string brackets_;  // the closing brackets that are expected
  std::vector<Token> tokens_;
};

// Adds text that stands before a tag, without what the tag takes away from its end.
void Lexer::Data(std::string_view data, char sign, bool variable) {
  size_t keep = data.size();
  if (sign == '-') {
    keep = TrimmedEnd(data);
  } else if (sign != '+' && !variable) {
    const size_t newline = data.rfind('\n');
    const size_t begin = newline == kNowhere ? 0 : newline + 1;
    const std::string_view indent = data.substr(begin);
    if ((begin > 0 || at_line_start_) && SpaceLength(indent) == indent.size()) keep = begin;
  }
  if (keep > 0) Add(TokenKind::kData, std::string(data.substr(0, keep)));
}

// If `text` is "{% raw %}" in any of its forms, its length, else 0.
size_t RawLength(std::string_view text, std::string_view word) {
  size_t at = 2;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  at += SpaceLength(text.substr(std::min(at, text.size())));
  if (at > text.size() || !text.substr(at).starts_with(word)) return 0;
  at += word.size();
  at += SpaceLength(text.substr(at));
  if (text.substr(at).starts_with("-%}") || text.substr(at).starts_with("+%}")) return at + 3;
  return text.substr(at).starts_with("%}") ? at + 2 : 0;
}

Status Lexer::Root() {
  size_t begin = rest_.find('{');
  while (begin != kNowhere && (begin + 1 >= rest_.size() ||
                               std::string_view("%{#").find(rest_[begin + 1]) == kNowhere)) {
    begin = rest_.find('{', begin + 1);
  }
  if (begin == kNowhere) {
    Add(TokenKind::kData, std::string(rest_));
    Skip(rest_.size());
    return Ok();
  }
  const char kind = rest_[begin + 1];
  const char after = begin + 2 < rest_.size() ? rest_[begin + 2] : '\0';
  const char sign = after == '-' || after == '+' ? after : '\0';
  Data(rest_.substr(0, begin), sign, kind == '{');
  at_line_start_ = false;
  Skip(begin);
  if (kind == '%') {
    const size_t raw = RawLength(rest_, "raw");
    if (raw > 0) return Raw(raw);
  }
  const size_t opening = sign == '\0' ? 2 : 3;
  if (kind == '#') {
    Skip(opening);
    return Comment();
  }
  Add(kind == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, "");
  Skip(opening);
  return Tag(kind == '%' ? TokenKind::kBlockEnd : TokenKind::kVariableEnd);
}

Status Lexer::Comment() {
  const size_t end = rest_.find("#}");
  if (end == kNowhere) return Error("this comment is not closed; expected '#}'");
  const char sign = end > 0 ? rest_[end - 1] : '\0';
  Skip(end + 2);
  if (sign != '+') AfterTag(sign == '-');
  return Ok();
}

Status Lexer::Raw(size_t length) {
  const bool strips = rest_[length - 3] == '-';
  Skip(length);
  if (strips) Skip(SpaceLength(rest_));
  size_t end = rest_.find("{%");
  while (end != kNowhere && RawLength(rest_.substr(end), "endraw") == 0)
    end = rest_.find("{%", end + 1);
  if (end == kNowhere) return Error("'raw' is not closed; expected '{% endraw %}'");
  const size_t closing = RawLength(rest_.substr(end), "endraw");
  Data(rest_.substr(0, end), rest_[end + 2], false);
  const bool strips_after = rest_[end + closing - 3] == '-';
  Skip(end + closing);
  AfterTag(strips_after);
  return Ok();
}

// Takes "%}", "-%}" or "+%}" ("}}" or "-}}") if it stands here.
bool Lexer::EndOfTag(TokenKind end_kind) {
  if (!brackets_.empty()) return false;
  const bool block = end_kind == TokenKind::kBlockEnd;
  const std::string_view closing = block ? "%}" : "}}";
  const bool strips = rest_.starts_with('-') && rest_.substr(1).starts_with(closing);
  const bool keeps = block && rest_.starts_with('+') && rest_.substr(1).starts_with(closing);
  if (!strips && !keeps && !rest_.starts_with(closing)) return false;
  Add(end_kind, "");
  Skip(strips || keeps ? 3 : 2);
  if (strips || (block && !keeps)) AfterTag(strips);
  return true;
}

Status Lexer::Tag(TokenKind end_kind) {
  const int begin = line_;
  while (true) {
    if (EndOfTag(end_kind)) return Ok();
    Skip(SpaceLength(rest_));
    if (EndOfTag(end_kind)) return Ok();
    if (rest_.empty()) {
      line_ = begin;
      return Error(std::string("this tag is not closed; expected '") +
                   (end_kind == TokenKind::kBlockEnd ? "%}'" : "}}'"));
    }
    RETURN_IF_ERROR(TagToken());
    RETURN_IF_ERROR(CheckCount());
  }
}

Status Lexer::TagToken() {
  const char c = rest_[0];
  if (IsDigit(c)) return Number();
  if (c == '"' || c == '\'') return String();
  if (!IsNameStart(c)) return Operator();
  size_t length = 1;
  while (length < rest_.size() && IsNamePart(rest_[length])) ++length;
  Add(TokenKind::kName, std::string(rest_.substr(0, length)));
  Skip(length);
  return Ok();
}

Status Lexer::Number() {
  size_t length = 0;
  std::string digits;
  const auto take_digits = [&] {
    while (length < rest_.size() && (IsDigit(rest_[length]) || rest_[length] == '_')) {
      if (rest_[length] != '_') digits += rest_[length];
      ++length;
    }
  };
  take_digits();
  bool real = false;
  if (length + 1 < rest_.size() && rest_[length] == '.' && IsDigit(rest_[length + 1])) {
    real = true;
    digits += '.';
    ++length;
    take_digits();
  }
  if (length < rest_.size() && (rest_[length] == 'e' || rest_[length] == 'E')) {
    size_t exponent = length + 1;
    if (exponent < rest_.size() && (rest_[exponent] == '+' || rest_[exponent] == '-')) ++exponent;
    if (exponent < rest_.size() && IsDigit(rest_[exponent])) {
      real = true;
      digits += rest_.substr(length, exponent - length);
      length = exponent;
      take_digits();
    }
  }
  Add(real ? TokenKind::kFloat : TokenKind::kInteger, std::move(digits));
  Skip(length);
  return Ok();
}

Status Lexer::String() {
  const char quote = rest_[0];
  size_t end = 1;
  while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
  if (end >= rest_.size())
    return Error(std::string("this string is not closed; expected ") + quote);
  std::string value;
  if (Status status = Unescape(rest_.substr(1, end - 1), &value); !status.ok())
    return Error(status.message());
  Add(TokenKind::kString, std::move(value));
  Skip(end + 1);
  return Ok();
}

Status Lexer::Operator() {
  constexpr std::string_view kTwo[] = {"//", "**", "==", "!=", ">=", "<="};
  constexpr std::string_view kOne = "+-/*%~[](){}><=.:|,;";
  size_t length = 0;
  for (const std::string_view two : kTwo)
    if (rest_.starts_with(two)) length = 2;
  if (length == 0 && kOne.find(rest_[0]) != kNowhere) length = 1;
  if (length == 0) return Error(std::string("unexpected character '") + rest_[0] + "'");
  const std::string text(rest_.substr(0, length));
  constexpr std::string_view kOpening = "([{";
  constexpr std::string_view kClosing = ")]}";
  if (length == 1 && kOpening.find(text[0]) != kNowhere) {
    brackets_ += kClosing[kOpening.find(text[0])];
  } else if (length == 1 && kClosing.find(text[0]) != kNowhere) {
    if (brackets_.empty()) return Error("unexpected '" + text + "'");
    if (brackets_.back() != text[0])
      return Error("expected " + Quoted(brackets_.substr(brackets_.size() - 1)) + ", found " +
                   Quoted(text));
    brackets_.pop_back();
  }
  Add(TokenKind::kOperator, text);
  Skip(length);
  return Ok();
}

}  // namespace

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kData: return "text";
    case TokenKind::kBlockBegin: return "'{%'";
    case TokenKind::kBlockEnd: return "'%}'";
    case TokenKind::kVariableBegin: return "'{{'";
    case TokenKind::kVariableEnd: return "'}}'";
    case TokenKind::kString: return "a string";
    case TokenKind::kEnd: return "the end of the template";
    default: return Quoted(std::string_view(token.text).substr(0, 40));
  }
}

Result<std::vector<Token>> Tokenize(std::string_view source) { return Lexer(source).Run(); }

}  // namespace skald::chat
