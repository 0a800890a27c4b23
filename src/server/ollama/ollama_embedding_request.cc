#include "server/ollama/ollama_embedding_request.h"

#include <limits>

#include "server/ollama/ollama_request.h"

namespace skald::server {

namespace {

OrError<EmbeddingRequest> Read(const boost::json::value& body, EmbeddingStyle style) {
  const auto object = AsObject(body);
  if (const auto* error = std::get_if<ApiError>(&object)) return *error;
  Fields fields(*std::get<const boost::json::object*>(object));
  EmbeddingRequest request;
  request.style = style;
  request.form = VectorForm::kBare;
  request.model = WithoutLatest(fields.Text("model", 256).value_or(""));
  const bool is_one = style == EmbeddingStyle::kOllamaOne;
  const std::string_view inputs = is_one ? "prompt" : "input";
  ReadEmbeddingInputs(fields, inputs, request);
  if (is_one && request.inputs.size() > 1)
    fields.Fail(BadRequest("prompt", "prompt is a list, expected one text"));
  if (!is_one)
    request.dimensions = fields.Int("dimensions", {1, std::numeric_limits<int32_t>::max()});
  // The model stays, and an input that is too long is an error: nothing is cut. Options are about
  // sampling and how it is computed.
  for (const std::string_view name : {"keep_alive", "truncate", "options"}) fields.Ignore(name);
  if (fields.error()) return *fields.error();
  request.ignored = fields.Left();
  return request;
}

}  // namespace

OrError<EmbeddingRequest> ReadOllamaEmbed(const boost::json::value& body) {
  return Read(body, EmbeddingStyle::kOllama);
}

OrError<EmbeddingRequest> ReadOllamaEmbeddings(const boost::json::value& body) {
  return Read(body, EmbeddingStyle::kOllamaOne);
}

}  // namespace skald::server
