/// GenerationRequest: the body of /v1/completions or /v1/chat/completions as a typed value.
///
/// The one place that knows the fields: their names, types, ranges and defaults (docs/server.md has
/// the table). Everything is checked here before anything is done; what only a model can check
/// (token ids, lengths in tokens) remains. Pure, without input or output.
///
/// Defaults are OpenAI's: temperature 1, no filters. Fields that cannot change the answer are
/// ignored; unknown ones too, and reported. Fields that would change it and are not there: 400.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/api_error.h"
#include "server/chat_tools.h"
#include "server/grammar_source.h"
#include "skald/request.h"
#include "skald/tokenizer.h"

namespace skald::server {

/// Bounds of a request. They keep the work of one request near its size.
inline constexpr int64_t kMaxChoices = 16;  ///< n, best_of
inline constexpr size_t kMaxPrompts = 64;   ///< of one request
inline constexpr size_t kMaxStopStrings = 16;
inline constexpr size_t kMaxStopStringBytes = 256;
inline constexpr size_t kMaxLogitBiases = 1024;
inline constexpr size_t kMaxStopTokens = 64;
inline constexpr size_t kMaxDryBreakers = 16;
inline constexpr size_t kMaxDryBreakerBytes = 64;
inline constexpr size_t kMaxSaltBytes = 1024;       ///< as vLLM
inline constexpr int64_t kMaxPriority = 1'000'000;  ///< either way

/// A prompt: text, or tokens.
using PromptInput = std::variant<std::string, std::vector<TokenId>>;

/// Which of the two.
enum class GenerationKind : uint8_t { kCompletion, kChat };

/// Whose API was asked, and so the form of the answer.
enum class AnswerStyle : uint8_t {
  kOpenAi,
  kAnthropic,
  kResponses,
  kOllamaChat,
  kOllamaGenerate,
  kInfill,  ///< llama.cpp's
};

/// The gap behind the prompt of a completion, which the answer fills.
struct GapInput {
  std::string field;                  ///< that asked for it
  std::string behind;                 ///< the text behind it
  std::vector<NamedText> files = {};  ///< that the model may look at; the nearest last
};

/// See above.
struct GenerationRequest {
  GenerationKind kind = GenerationKind::kCompletion;
  AnswerStyle style = AnswerStyle::kOpenAi;
  std::string model;                            ///< as asked; empty if not
  std::vector<PromptInput> prompts;             ///< of a completion: 1 to kMaxPrompts
  boost::json::object chat;                     ///< of a chat: the variables of the template
  boost::json::object template_variables = {};  ///< what the client sends along with them
  ChatToolUse tools;                            ///< of a chat
  /// Of a chat: numbers of leading messages behind which the client will go on (HasCacheMark).
  std::vector<size_t> marked_messages = {};
  bool split_reasoning = true;  ///< of a chat: apart from the content
  /// What to compute: all but the prompt and the cache namespace. The seed is drawn if has_seed is
  /// not set.
  Request request;
  bool has_seed = false;
  bool only_loads = false;  ///< nothing to answer: Ollama's way to ask for a model to be loaded
  std::optional<GrammarSource> grammar = {};  ///< what the answer must be
  std::vector<std::string> stop_strings;
  std::vector<std::string> dry_breakers = {};  ///< texts; tokens once the model is known
  std::optional<GapInput> gap = {};
  std::string cache_salt;
  bool stream = false;
  bool include_usage = false;  ///< of a stream: a last chunk with the usage
  bool receipt = false;        ///< of the one choice (skald/receipt.h)
  bool echo = false;           ///< the text of a completion begins with its prompt
  /// vLLM's field: with so many of the likeliest tokens. `request` has the most of what it and
  /// `echo` with log probabilities ask for.
  std::optional<int32_t> prompt_logprobs = {};
  /// The members that llama.cpp's answer is to have; none: all.
  std::vector<std::string> only_members = {};
  /// Members that the answer repeats: name, and value as JSON.
  std::vector<std::pair<std::string, std::string>> repeated = {};
  std::vector<std::string> ignored;  ///< names of fields that nobody knows, or that nothing keeps
};

OrError<GenerationRequest> ReadCompletionRequest(const boost::json::value& body);
OrError<GenerationRequest> ReadChatRequest(const boost::json::value& body);

/// A string, an array of token ids, or an array of at most `most` of one or the other: what
/// `prompt` may be, and the field `name` of other routes.
OrError<std::vector<PromptInput>> ReadPrompts(std::string_view name,
                                              const boost::json::value& value,
                                              size_t most = kMaxPrompts);

}  // namespace skald::server
