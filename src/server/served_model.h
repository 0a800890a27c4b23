/// ServedModel: the model that requests are answered with, and what it takes to turn a request into
/// tokens and text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_keys.h"
#include "server/embedding_request.h"
#include "server/generation_request.h"
#include "server/grammar_cache.h"
#include "server/rank_request.h"
#include "server/tenant_accounts.h"
#include "server/vector_writer.h"
#include "server/work_pool.h"
#include "skald/chat_answer.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/server.h"

namespace skald::server {

/// How the model's template and its answers deal with tools and reasoning.
struct ChatForm {
  ChatAnswerFormat answers = {};
  bool reads_tools = false;  ///< the template has a place for definitions
  ToolArguments arguments = ToolArguments::kObject;
};
/// Of a model without a template that can be read: nothing.
ChatForm ChatFormOf(const Model& model);

/// One model under one name. References to what lives longer.
struct ServedModel {
  const Model& model;
  const Engine& engine;  ///< for its limits; Submit is not const
  std::string name;
  int64_t longest_token_bytes;  ///< LongestTokenBytes(model.tokenizer())
  Pooling pooling;              ///< of embeddings; kNone: there are none
  /// What answers call system_fingerprint.
  std::string fingerprint;
  ChatForm chat = {};
  /// Whether it is what clients mean by every other name, too.
  ModelNames names = ModelNames::kOwn;
  /// ServerOptions::receipts.
  std::optional<KvCacheTypes> receipts = {};

  bool IsCalled(std::string_view asked) const { return names == ModelNames::kAny || asked == name; }
};

/// "fp_0123456789abcdef_n7_f16": which model, which numerics version, which `settings`: all that
/// the bits of an answer depend on beside the request.
std::string SystemFingerprint(const ModelInfo& info, std::string_view settings);

/// 404: there is no model of the name that was asked for, but another.
ApiError NoSuchModel(const ServedModel& served, std::string_view asked);
/// That, if the name is of another; an empty one is of none.
std::optional<ApiError> CheckModelName(const ServedModel& served, std::string_view asked);

/// Writes what the key of a request's tenant makes of it.
void ApplyRights(const Tenant& tenant, Request& request);

/// The most bytes of text that one token can stand for.
int64_t LongestTokenBytes(const Tokenizer& tokenizer);

/// The text of a prompt that its choices begin with.
struct EchoedPrompt {
  std::shared_ptr<const std::string> json;  ///< AppendJsonText; shared by all choices
  int64_t characters = 0;
};

/// A request whose prompts are tokens: ready for the engine.
struct PreparedGeneration {
  GenerationRequest request;
  std::vector<Request> engine_requests;         ///< one for each prompt
  std::vector<EchoedPrompt> echoed;             ///< the same, as text; filled for echo only
  std::vector<std::string_view> warnings = {};  ///< what the client should know, see below
  bool in_reasoning = false;                    ///< of a chat: the prompt opens the reasoning
  std::optional<AnswerSource> held = {};        ///< what the answer must be
  GrammarKey grammar_key = {};                  ///< of that
  std::vector<std::string> left_out = {};       ///< of its schema
  std::vector<int64_t> places = {};             ///< Request::places, of a chat
  uint64_t prompt_hash = 0;  ///< of a chat: what ids of calls are drawn from, beside the seed
};

/// Warnings of an answer, in its header x-skald-warnings.
inline constexpr std::string_view kSystemMessageDropped = "system-message-dropped";
inline constexpr std::string_view kContextBeyondModel = "context-beyond-model";
inline constexpr std::string_view kPriorityLowered = "priority-lowered";
inline constexpr std::string_view kReasoningSkipped = "reasoning-skipped";
/// All of them, with commas.
std::string WarningNames(std::span<const std::string_view> warnings);

/// The same for a request whose answer is a list of what the engine gives for texts or pairs.
struct PreparedVectors {
  std::shared_ptr<const VectorWriter> writer;
  std::vector<std::string> ignored;      ///< names of fields that nobody knows
  int64_t answer_bytes = 0;              ///< at most
  int64_t numbers = 0;                   ///< of all vectors together
  std::vector<Request> engine_requests;  ///< one for each input
};

/// What a prompt depends on beside the request.
struct PrepareContext {
  const WorkLimit& limit;  ///< looked at while prompts are rendered and encoded
  std::shared_ptr<const Tenant> tenant;
  Room room;  ///< of the tenant, as of not long ago
  int64_t max_answer_bytes = 0;
  uint64_t cache_namespace = 0;
  int64_t unix_seconds = 0;  ///< what a chat template takes for the time of day, in UTC
};

/// The most bytes that the log probabilities of a prompt take in a choice of the answer.
int64_t ScoredPromptBytes(const GenerationRequest& request, int64_t prompt_tokens);

/// The most bytes that a whole answer can have: prompts that it repeats are known, generated text
/// and log probabilities are counted for as many tokens as may come.
int64_t AnswerBytes(const PreparedGeneration& prepared, int64_t context);

/// Checks what only the model and the tenant's room can check, and makes tokens of the prompts.
/// Pure, thread-safe; takes about a microsecond for 5 bytes of prompt. Errors: 400, also for an
/// answer of more than max_answer_bytes; 404 for another model's name; 429, before any work, if the
/// tenant has no room for so much.
OrError<PreparedGeneration> Prepare(const ServedModel& served, GenerationRequest request,
                                    const PrepareContext& context);

/// As Prepare. Also 400: more numbers than kMaxEmbeddingNumbers together, other dimensions than the
/// model has, no pooling.
OrError<PreparedVectors> Prepare(const ServedModel& served, EmbeddingRequest request,
                                 const PrepareContext& context);

/// As Prepare. Also 400: the model does not rank.
OrError<PreparedVectors> Prepare(const ServedModel& served, RankRequest request,
                                 const PrepareContext& context);

/// Of all embeddings of one request: some 48 MB as JSON.
inline constexpr int64_t kMaxEmbeddingNumbers = int64_t{1} << 22;

}  // namespace skald::server
