/// ResponseRequest: the body of OpenAI's /v1/responses as a chat.
///
/// As generation_request.h: everything is checked here before anything is done, and nothing that
/// would change the answer passes silently. docs/apis.md says what becomes of each field. Pure.
#pragma once

#include <boost/json/value.hpp>

#include "server/generation_request.h"

namespace skald::server {

/// Of an input.
inline constexpr size_t kMaxInputItems = 8192;

OrError<GenerationRequest> ReadResponseRequest(const boost::json::value& body);

}  // namespace skald::server
