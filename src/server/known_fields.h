/// Known fields: what other servers take in a generation's body, and what becomes of it here.
///
/// A field that cannot change the answer is accepted and left alone. One that would change it is
/// refused by name until it exists here: a client must not believe that it had what it asked for.
/// It passes where it says that the feature is not wanted, as its server would read it: null,
/// false, "", [], {}, or the number that switches it off. So a client that sends its whole list of
/// settings is served. The sources: OpenAI, Anthropic, llama.cpp's server, Ollama, vLLM, SGLang,
/// TGI.
#pragma once

#include "server/fields.h"

namespace skald::server {

/// Of which route a body is. kOther: of another API than OpenAI's.
enum class FieldScope : uint8_t { kCompletion, kChat, kOther };

/// Marks what cannot change the answer as asked for, and fails for what would. What was asked for
/// already is the reader's own.
void TakeKnownFields(Fields& fields, FieldScope scope);

}  // namespace skald::server
