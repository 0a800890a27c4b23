/// OllamaRequest: the bodies of Ollama's /api/chat and /api/generate.
///
/// As generation_request.h: everything is checked here before anything is done, and nothing that
/// would change the answer passes silently. docs/apis.md says what becomes of each field. Defaults
/// are Ollama's: temperature 0.8, top_k 40, top_p 0.9, repeat_penalty 1.1 over 64 tokens, a stream.
/// Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "server/generation_request.h"

namespace skald::server {

OrError<GenerationRequest> ReadOllamaChat(const boost::json::value& body);
OrError<GenerationRequest> ReadOllamaGenerate(const boost::json::value& body);

/// A name without the ":latest" that Ollama's clients may put behind it.
std::string WithoutLatest(std::string name);

}  // namespace skald::server
