// Fuzz target: a body to a GenerationRequest and to an EmbeddingRequest, by the reader of each API,
// and to RankRequests. Whatever is taken is in range.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "server/anthropic/messages_request.h"
#include "server/embedding_request.h"
#include "server/generation_request.h"
#include "server/json_reader.h"
#include "server/llama_cpp/infill_request.h"
#include "server/ollama/ollama_embedding_request.h"
#include "server/ollama/ollama_request.h"
#include "server/rank_request.h"
#include "server/responses/response_request.h"

namespace skald::server {
namespace {

bool IsIn(double value, double min, double max) { return value >= min && value <= max; }

void CheckRanges(const GenerationRequest& taken) {
  const Request& request = taken.request;
  CHECK(request.n >= 1 && request.n <= kMaxChoices && request.best_of <= kMaxChoices);
  CHECK(request.best_of == 0 || request.best_of >= request.n);
  CHECK(request.stop.max_tokens >= -1);
  CHECK(request.stop.min_tokens >= 0);
  CHECK(request.stop.stop_tokens.size() <= kMaxStopTokens);
  CHECK(taken.stop_strings.size() <= kMaxStopStrings && taken.prompts.size() <= kMaxPrompts);
  for (const std::string& stop : taken.stop_strings)
    CHECK(!stop.empty() && stop.size() <= kMaxStopStringBytes);
  CHECK(!taken.gap || taken.gap->files.size() <= kMaxInfillFiles);
  CHECK(taken.only_members.size() <= kMaxResponseFields);
  CHECK(taken.cache_salt.size() <= kMaxSaltBytes);
  const SamplingParams& sampling = request.sampling;
  CHECK(sampling.temperature == 0 || IsIn(sampling.temperature, 1e-6, 100));
  CHECK(IsIn(sampling.truncation.top_p, 0, 1) && IsIn(sampling.truncation.min_p, 0, 1));
  CHECK(sampling.truncation.top_k >= 0 && IsIn(sampling.truncation.typical_p, 0, 1));
  CHECK(IsIn(sampling.penalties.presence, -2, 2) && IsIn(sampling.penalties.frequency, -2, 2));
  CHECK(IsIn(sampling.penalties.repetition, 0.01, 100));
  CHECK(sampling.logit_bias.size() <= kMaxLogitBiases);
  for (const LogitBias& bias : sampling.logit_bias)
    CHECK(bias.token >= 0 && IsIn(bias.bias, -100, 100));
  CHECK(!sampling.top_logprobs || IsIn(*sampling.top_logprobs, 0, 20));
}

// What calls are held to: a schema for each tool, as it stands in the body.
void CheckTools(ChatToolUse use, std::string_view body) {
  CHECK(use.schemas.size() == (use.tools == nullptr ? 0 : use.tools->size()));
  TakeRawSchemas(body, &use);
  bool any = use.schemas.empty();
  for (size_t i = 0; i < use.schemas.size(); ++i) {
    const std::string& text = use.schemas[i].text;
    CHECK(text.empty() || (text.starts_with('{') && text.ends_with('}')));
    CHECK(PointerOf(use, i).starts_with('/'));
    any = any || use.schemas[i].is_callable;
  }
  CHECK(any);
}

// What an answer is held to: its text is that of a member of the body.
void CheckGrammar(GrammarSource source, std::string_view body) {
  CHECK(PointerOf(source).starts_with('/'));
  const bool is_raw = source.is_raw;
  TakeRawText(body, &source);
  CHECK(!source.is_raw);
  if (is_raw) CHECK(!source.text.empty() && body.find(source.text) != std::string_view::npos);
}

void CheckInputs(const EmbeddingRequest& taken) {
  CHECK(!taken.inputs.empty() && taken.inputs.size() <= kMaxEmbeddingInputs);
  CHECK(taken.style != EmbeddingStyle::kOllamaOne || taken.inputs.size() == 1);
  CHECK(!taken.dimensions || *taken.dimensions >= 1);
}

void CheckPairs(const RankRequest& taken) {
  CHECK(!taken.documents.empty() && taken.documents.size() <= kMaxPairs && taken.top >= 1);
  CHECK(taken.queries.size() == 1 || taken.queries.size() == taken.documents.size());
  size_t bytes = 0;
  for (size_t i = 0; i < taken.documents.size(); ++i) {
    CHECK(!taken.query(i).empty() && !taken.documents[i].empty());
    bytes += taken.query(i).size() + taken.documents[i].size();
  }
  CHECK(bytes <= kMaxPairBytes);
}

}  // namespace
}  // namespace skald::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skald::server;  // NOLINT(google-build-using-namespace)
  const std::string_view text = {reinterpret_cast<const char*>(data), size};
  const auto body = ReadJson(text);
  const auto* json = std::get_if<boost::json::value>(&body);
  if (json == nullptr) return 0;
  for (const auto& read :
       {ReadCompletionRequest(*json), ReadChatRequest(*json), ReadMessagesRequest(*json),
        ReadCountTokensRequest(*json), ReadResponseRequest(*json), ReadOllamaChat(*json),
        ReadOllamaGenerate(*json), ReadInfillRequest(*json)}) {
    if (const auto* taken = std::get_if<GenerationRequest>(&read)) {
      CheckRanges(*taken);
      CheckTools(taken->tools, text);
      if (taken->grammar) CheckGrammar(*taken->grammar, text);
    } else {
      CHECK(std::get<ApiError>(read).status == 400);
    }
  }
  for (const auto& read :
       {ReadEmbeddingRequest(*json), ReadOllamaEmbed(*json), ReadOllamaEmbeddings(*json)}) {
    if (const auto* taken = std::get_if<EmbeddingRequest>(&read))
      CheckInputs(*taken);
    else
      CHECK(std::get<ApiError>(read).status == 400);
  }
  for (const auto& read : {ReadRerankRequest(*json), ReadScoreRequest(*json)}) {
    if (const auto* taken = std::get_if<RankRequest>(&read))
      CheckPairs(*taken);
    else
      CHECK(std::get<ApiError>(read).status == 400);
  }
  return 0;
}
