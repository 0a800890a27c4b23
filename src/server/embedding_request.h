/// EmbeddingRequest: the body of /v1/embeddings as a typed value.
///
/// As GenerationRequest: the one place that knows the fields; pure. What only a model can check
/// (token ids, lengths in tokens, dimensions) remains.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/fields.h"
#include "server/generation_request.h"

namespace skald::server {

/// Of one request: what OpenAI takes, and clients cut their lists to.
inline constexpr size_t kMaxEmbeddingInputs = 2048;
/// Inputs of one request that the engine has at a time. More than run together in most engines.
inline constexpr size_t kInputsAtOnce = 32;

/// How the numbers of a vector are written.
enum class VectorForm : uint8_t {
  kNumbers,  ///< an array
  kBare,     ///< the same, without an object around it: Ollama's
  kBase64,   ///< a string: floats of 4 bytes, the lowest first. What openai-node asks for.
};

/// Whose API was asked, and so the form of the answer.
enum class EmbeddingStyle : uint8_t {
  kOpenAi,
  kOllama,     ///< /api/embed
  kOllamaOne,  ///< /api/embeddings: of one text
};

/// See above.
struct EmbeddingRequest {
  std::string model;                ///< as asked; empty if not
  std::vector<PromptInput> inputs;  ///< 1 to kMaxEmbeddingInputs, none of them empty
  VectorForm form = VectorForm::kNumbers;
  EmbeddingStyle style = EmbeddingStyle::kOpenAi;
  std::optional<int64_t> dimensions;  ///< as asked; only the width of the model is to be had
  std::string cache_salt;
  std::vector<std::string> ignored;  ///< names of fields that nobody knows
};

/// Sets `inputs` from the field `name`. Fails if it is missing, or holds what has no embedding.
void ReadEmbeddingInputs(Fields& fields, std::string_view name, EmbeddingRequest& request);

OrError<EmbeddingRequest> ReadEmbeddingRequest(const boost::json::value& body);

}  // namespace skald::server
