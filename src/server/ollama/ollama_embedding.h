/// OllamaEmbedding: bodies and answers of Ollama's /api/embed and /api/embeddings.
///
/// The vectors are those of /v1/embeddings (embedding_request.h); names and defaults are Ollama's.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/embedding_request.h"
#include "server/vector_writer.h"

namespace skald::server {

/// /api/embed: `input`, a text or a list of them.
OrError<EmbeddingRequest> ReadOllamaEmbed(const boost::json::value& body);
/// /api/embeddings, the older one: `prompt`, one text.
OrError<EmbeddingRequest> ReadOllamaEmbeddings(const boost::json::value& body);

/// {"embeddings": [[...], ...], "model", "total_duration", ...}, or {"embedding": [...], ...} of
/// the one there is.
class OllamaEmbeddingWriter final : public VectorWriter {
 public:
  explicit OllamaEmbeddingWriter(EmbeddingStyle style) : style_(style) {}

  std::string_view opening() const override;
  std::vector<std::string> List(std::vector<std::vector<float>> vectors) const override;
  void AddMembers(const VectorFrame& frame, JsonWriter& json) const override;

 private:
  EmbeddingStyle style_;
};

}  // namespace skald::server
