/// Lexer: the source of a template to tokens, as Jinja 3.1 cuts it with trim_blocks and
/// lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"

namespace skald::chat {

enum class TokenKind : uint8_t {
  kData,           ///< text outside of tags
  kBlockBegin,     ///< {%
  kBlockEnd,       ///< %}
  kVariableBegin,  ///< {{
  kVariableEnd,    ///< }}
  kName,
  kString,    ///< `text` is the value, escapes resolved
  kInteger,   ///< `text` as written, without underscores
  kFloat,     ///< as kInteger
  kOperator,  ///< `text` is the operator
  kEnd,       ///< of the source
};

/// A token, and the line of the source it begins on, from 1.
struct Token {
  TokenKind kind;
  int line;
  std::string text;
};

/// What stands at a token, for messages: "'endif'", "the end of the template".
std::string Describe(const Token& token);

/// All tokens, kEnd last. Errors, kBadModel with the line: an unclosed comment, string or raw
/// block, brackets that do not match, a character that begins no token, more than kMaxSourceTokens.
/// Linear.
Result<std::vector<Token>> Tokenize(std::string_view source);

}  // namespace skald::chat
