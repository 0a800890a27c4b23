/// MessagesRequest: the body of Anthropic's /v1/messages and /v1/messages/count_tokens as a chat.
///
/// As generation_request.h: everything is checked here before anything is done, and nothing that
/// would change the answer passes silently. docs/server.md says what becomes of each field. Pure.
///
/// A message of blocks becomes messages as templates read them: text blocks are put together,
/// thinking becomes reasoning, tool_use blocks become calls, each tool_result a message of its own
/// before the text that stands beside it.
#pragma once

#include <boost/json/value.hpp>

#include "server/generation_request.h"

namespace skald::server {

/// Blocks of one message, results and calls included.
inline constexpr size_t kMaxBlocks = 1024;

OrError<GenerationRequest> ReadMessagesRequest(const boost::json::value& body);
/// The same for a message whose prompt is only counted: it asks for one token.
OrError<GenerationRequest> ReadCountTokensRequest(const boost::json::value& body);

}  // namespace skald::server
