/// Pieces of JSON for readers whose models write another syntax.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "grammar/limits.h"
#include "skald/chat_answer.h"

namespace skald::chat {

/// Containers of a value inside of one another. No less than a grammar lets a model write: what it
/// was held to is read.
inline constexpr size_t kMaxValueDepth = grammar::kTextDepthMax;

/// One byte of a string as it stands between the quotes of a JSON string. Bytes of characters
/// beyond ASCII pass.
void AppendJsonByte(char byte, std::string* out);

/// `text` in quotes.
std::string JsonString(std::string_view text);

/// Whether `text` is one JSON value (RFC 8259, at most kMaxValueDepth levels). Linear; builds
/// nothing.
bool IsJson(std::string_view text);

/// What a model wrote without quotes, as JSON: by the kind that its parameter declares. Blanks
/// around what is no string do not count. What is no JSON becomes a string.
std::string JsonOfBareValue(std::string_view text, ChatTool::Kind kind);

}  // namespace skald::chat
