/// OllamaEmbeddingRequest: the bodies of Ollama's /api/embed and /api/embeddings.
///
/// The vectors are those of /v1/embeddings (embedding_request.h); names and defaults are Ollama's.
/// Pure.
#pragma once

#include <boost/json/value.hpp>

#include "server/embedding_request.h"

namespace skald::server {

/// /api/embed: `input`, a text or a list of them.
OrError<EmbeddingRequest> ReadOllamaEmbed(const boost::json::value& body);
/// /api/embeddings, the older one: `prompt`, one text.
OrError<EmbeddingRequest> ReadOllamaEmbeddings(const boost::json::value& body);

}  // namespace skald::server
