/// Pieces of JSON for readers whose models write another syntax.
#pragma once

#include <string>
#include <string_view>

#include "skald/chat_answer.h"

namespace skald::chat {

/// One byte of a string as it stands between the quotes of a JSON string. Bytes of characters
/// beyond ASCII pass.
void AppendJsonByte(char byte, std::string* out);

/// `text` in quotes.
std::string JsonString(std::string_view text);

/// Whether `text` is one JSON value (RFC 8259) of at most grammar::kTextDepthMax levels: no fewer
/// than a grammar lets a model write, so that what it was held to is read. Linear; builds nothing.
bool IsJson(std::string_view text);

/// What a model wrote without quotes, as JSON: by the kind that its parameter declares. Blanks
/// around what is no string do not count. What is no JSON becomes a string.
std::string JsonOfBareValue(std::string_view text, ChatTool::Kind kind);

}  // namespace skald::chat
