/// ServedModel: the model that requests are answered with, and what it takes to turn a request into
/// tokens and text.
#pragma once

#include <cstdint>
#include <string>

#include "server/api_keys.h"
#include "server/generation_request.h"
#include "skald/engine.h"
#include "skald/model.h"

namespace skald::server {

/// One model under one name. References to what lives longer.
struct ServedModel {
  const Model& model;
  const Engine& engine;  ///< for its limits; Submit is not const
  std::string name;
  int64_t longest_token_bytes;  ///< LongestTokenBytes(model.tokenizer())
};

/// The most bytes of text that one token can stand for.
int64_t LongestTokenBytes(const Tokenizer& tokenizer);

/// A request whose prompts are tokens: ready for the engine.
struct PreparedGeneration {
  GenerationRequest request;
  std::vector<Request> engine_requests;   ///< one for each prompt
  std::vector<std::string> prompt_texts;  ///< the same, as text; filled for echo only
};

/// What a prompt depends on beside the request.
struct PrepareContext {
  uint64_t cache_namespace = 0;
  int64_t unix_seconds = 0;  ///< what a chat template takes for the time of day, in UTC
};

/// Checks what only the model can check, and makes tokens of the prompts. Pure, thread-safe; takes
/// about a microsecond for 5 bytes of prompt. Errors: 400; 404 for another model's name.
OrError<PreparedGeneration> Prepare(const ServedModel& served, GenerationRequest request,
                                    const PrepareContext& context);

}  // namespace skald::server
