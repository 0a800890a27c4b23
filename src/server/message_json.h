/// What a model said in a chat, taken apart (ChatPiece), as the OpenAI API writes it: the message
/// of a whole answer, and the deltas of a stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "skald/chat_answer.h"

namespace skald::server {

/// How calls are written: as `tool_calls`, or the one there is as `function_call`, its older form.
enum class CallForm : uint8_t { kTools, kFunction };

/// Appends `more`, and joins what belongs together. Returns the bytes that calls take beside the
/// text that made them.
int64_t AppendPieces(std::vector<ChatPiece> more, std::vector<ChatPiece>* all);

/// The members of a message behind its role: content (null beside reasoning or calls, if there is
/// none), reasoning_content, tool_calls. Inside an object.
void WriteMessage(const std::vector<ChatPiece>& pieces, CallForm form, JsonWriter& json);

/// The arguments of a call where they must be an object. What the model wrote instead, and what was
/// cut, is {"INVALID_JSON": "..."}, as Anthropic names it for clients.
void WriteArgumentsObject(const std::string& arguments, JsonWriter& json);

/// The members of a delta with this piece. Inside an object.
void WriteDelta(const ChatPiece& piece, CallForm form, JsonWriter& json);

}  // namespace skald::server
