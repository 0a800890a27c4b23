#include "server/ollama/ollama_embedding_writer.h"

#include <cmath>
#include <utility>

#include "server/embedding_writer.h"

namespace skald::server {

std::string_view OllamaEmbeddingWriter::opening() const {
  return style_ == EmbeddingStyle::kOllamaOne ? R"({"embedding":)" : R"({"embeddings":)";
}

std::vector<std::string> OllamaEmbeddingWriter::List(
    std::vector<std::vector<float>> vectors) const {
  std::vector<std::string> pieces = EmbeddingsJson(std::move(vectors), VectorForm::kBare);
  if (style_ == EmbeddingStyle::kOllamaOne) {  // the list of one without its brackets
    pieces.front().erase(0, 1);
    pieces.back().pop_back();
  }
  return pieces;
}

void OllamaEmbeddingWriter::AddMembers(const VectorFrame& frame, JsonWriter& json) const {
  AddModel(frame, json);
  json.Key("total_duration").Int(std::llround(frame.seconds * 1e9)).Key("load_duration").Int(0);
  json.Key("prompt_eval_count").Int(frame.prompt_tokens);
}

}  // namespace skald::server
