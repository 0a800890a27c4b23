/// Message blocks: what a message of Anthropic's API is made of.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "server/api_error.h"
#include "server/conversation.h"

namespace skald::server {

/// A string, or an array of text blocks, put together. `where`: its name in a message of error.
/// Errors: 400.
OrError<std::string> ReadBlocksOfText(const std::string& where, const boost::json::value& value);

/// Adds what a message tells. 400 for what is no message, and for blocks that no model of text can
/// read.
std::optional<ApiError> ReadBlockMessage(const std::string& where, const boost::json::value& value,
                                         Conversation& conversation);

}  // namespace skald::server
