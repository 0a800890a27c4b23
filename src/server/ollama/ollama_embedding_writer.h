/// OllamaEmbeddingWriter: the answers of Ollama's /api/embed and /api/embeddings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/embedding_request.h"
#include "server/vector_writer.h"

namespace skald::server {

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
