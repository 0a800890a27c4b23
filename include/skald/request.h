/// Request: what a caller asks of an engine, and Event: what the engine says about it.
///
///     Submit -> queued -> admitted -> chunk ... -> token ... -> sequence finished -> finished
///                            ^                       |            (or one embedding, no token)
///                            +------ resumed <-- preempted
///
/// Each sequence of an accepted request ends with exactly one SequenceFinishedEvent, the request
/// with exactly one FinishedEvent, its last. A Transcript (skald/transcript.h) is what all of them
/// amount to. Stop strings are not here: the engine knows no text. TextSink (skald/text_sink.h)
/// turns tokens into text and ends a sequence at a stop string.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "skald/constraint.h"
#include "skald/ids.h"
#include "skald/sampling_params.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// Names a request of one engine. Never used twice.
enum class RequestId : uint64_t {};

/// Why a request or one of its sequences ended.
enum class FinishReason : uint8_t {
  kStop,       ///< the model ended the text, or a stop token came, or the listener ended it; or
               ///< the embedding is there
  kLength,     ///< max_tokens reached
  kContext,    ///< the context is full
  kCancelled,  ///< Cancel, a listener that has gone, or the end of the engine
  kDeadline,   ///< the request's time is up
  kError,      ///< see FinishedEvent::status
};
inline constexpr int kFinishReasonCount = 6;

/// "stop", "length", "context", "cancelled", "deadline", "error".
std::string_view FinishReasonName(FinishReason reason);

/// When to end.
struct StopRules {
  int64_t max_tokens = -1;                ///< -1 = until the model stops or the context is full
  bool ignore_eos = false;                ///< go on after an end-of-generation token
  std::vector<TokenId> stop_tokens = {};  ///< further tokens that end the text
  /// Until so many tokens are out, tokens that would end the text are not chosen (bias -infinity).
  int64_t min_tokens = 0;
};

/// "none", "last", "mean", "first".
std::string_view PoolingName(Pooling pooling);

/// When a beam search ends that has as many finished texts as beams. The names of transformers'
/// early_stopping stand behind.
enum class BeamStop : uint8_t {
  kEstimate,  ///< no beam has a better score now than the worst of them (False)
  kFirst,     ///< at once (True)
  kNever,     ///< no beam can ever become better ("never")
};

/// Beam search: not one token after the other, but the text of the highest score, looked for among
/// the `beams` likeliest at each length, as transformers does. The score is the sum of the log
/// probabilities of its tokens over length ^ length_penalty: above 0 longer texts are preferred.
struct BeamParams {
  int32_t beams = 0;  ///< 0 = no beam search
  double length_penalty = 1;
  BeamStop stop = BeamStop::kEstimate;
};

/// Sees the logits [vocab_size] that the token number `index` of a sequence is about to be drawn
/// from, as the model gave them; valid during the call, which comes from the engine thread.
using LogitTap =
    std::function<void(int32_t sequence, int64_t index, std::span<const float> logits)>;

/// What to compute.
struct Request {
  std::vector<TokenId> prompt;  ///< not empty; BOS included if the model wants one
  SamplingParams sampling = {};
  StopRules stop = {};
  /// If set, each sequence of the answer is a text that the constraint allows, or the beginning of
  /// one where max_tokens, a stop string or a deadline cut it. Made from the vocabulary of the
  /// engine's model. Tokens that end the text may come only where it may end; where it must, the
  /// sequence ends with kStop by itself. min_tokens and ignore_eos give way where nothing else is
  /// left; a logit_bias does not: kInvalidArgument. A text that becomes too ambiguous to follow
  /// ends with kError, "grammar_too_complex". Log probabilities are of the model's own distribution
  /// all the same. Without speculation and with it, preempted or not, the answer is the same.
  std::optional<Constraint> constraint = std::nullopt;
  /// Prefixes are shared among requests of the same number only. Derive it from who asks: what is
  /// cached can be felt in the time to the first token.
  uint64_t cache_namespace = 0;
  /// Whose request it is. What a step computes of prompts is shared out among the tenants that have
  /// something to compute, whatever the number and the priority of their requests.
  int64_t tenant = 0;
  /// Weight of that share, 1 to kMaxTenantShare: one of 2 gets twice what one of 1 gets. The last
  /// request that was submitted speaks for its tenant.
  int32_t tenant_share = 1;
  /// Most sequences of this tenant that compute at the same time, at least width(); 0 = as many as
  /// there are places. Further requests wait, and delay nobody else.
  int32_t tenant_running = 0;
  /// Of a tenant's requests the larger goes first, and takes the place and the pages of running
  /// smaller ones if there are no others: these resume later, each gives way four times at most.
  /// The oldest waiting request of a tenant that 64 later ones have overtaken goes before all, and
  /// a tenth of each step to who has waited longest, whatever the priority (docs/scheduling.md).
  int32_t priority = 0;
  /// Seconds from Submit after which the request ends with kDeadline, whatever its state.
  std::optional<double> deadline_seconds = std::nullopt;
  /// Most tokens guessed ahead at a time; -1 = as many as the engine may, 0 = none. The answer does
  /// not depend on it, but under SpeculationRule::kRejection.
  int64_t max_draft = -1;
  /// Sequences wanted. They share the pages of the prompt; sequence i draws random numbers of its
  /// own, RandomKey::sequence = i.
  int32_t n = 1;
  /// Sequences computed, at least n (0 = n): the n with the highest mean log probability are the
  /// answer. Log probabilities are then computed whether or not `sampling` asks for them.
  int32_t best_of = 0;
  /// If not kNone, the answer is an embedding of the prompt, EmbeddingEvent, and no token. `stop`
  /// and what draws tokens do not matter then; n must be 1. A mean needs the hidden states of all
  /// tokens, and the cache has none: such a prompt is computed whole. So is that of kFirst.
  Pooling pooling = Pooling::kNone;
  /// If set, the answer is the score of a pair of texts in place of a vector: EmbeddingEvent with
  /// one number, the logit of how relevant the second text is to the first. Of models that rank,
  /// with their ModelInfo::rank_pooling.
  bool score = false;
  /// Where the second text of the pair begins in `prompt`; 0: there is one text. What
  /// Model::EncodePair says.
  int64_t second_text = 0;
  /// With beams the answer is the n best texts, the best as sequence 0. Penalties and biases act on
  /// log probabilities; temperature, filters and seed do not matter. Tokens come when the search is
  /// over, without log probabilities; what a listener ends then is cut, not searched anew.
  BeamParams beam_search = {};
  /// If set, the log probabilities of the prompt's tokens are told before anything that is
  /// generated, with this many of the likeliest tokens in the place of each (0 to kMaxTopLogprobs).
  /// The cache has no logits, so the whole prompt is computed, whatever is cached. Not for
  /// embeddings and beam searches.
  std::optional<int32_t> prompt_logprobs = std::nullopt;
  /// Numbers of leading tokens of the prompt, ascending, each less than it has, kMaxPlaces at most:
  /// others are likely to begin with these, and to go on otherwise. A model with recurrent layers
  /// leaves a snapshot there if it has room; one that keeps K and V alone goes on from everywhere
  /// anyway. No answer depends on it.
  std::vector<int64_t> places = {};
  /// For people who look at what runs (RequestProgress); nothing depends on it.
  std::string label = {};
  /// If set, sees the row of each token that is drawn. What it does delays all requests, and no
  /// token depends on it: for tools. A beam search shows it nothing.
  LogitTap logit_tap = nullptr;

  /// Sequences of the answer, before the best of them are chosen.
  int32_t sequence_count() const { return best_of > n ? best_of : n; }
  /// Events that a sink must have room for before its request is submitted.
  int64_t least_room() const {
    return 2 * int64_t{sequence_count()} + 2 + int64_t{prompt_logprobs.has_value()};
  }
  /// Sequences that are computed side by side.
  int32_t width() const { return beam_search.beams > 0 ? beam_search.beams : sequence_count(); }
};

/// Bound of Request::n and best_of: the largest fan-out the OpenAI API allows.
inline constexpr int32_t kMaxSequences = 128;

/// Bound of Request::places: each may cut a step.
inline constexpr size_t kMaxPlaces = 16;

/// Bound of Request::tenant_share: what is owed to the largest beside the smallest is bounded.
inline constexpr int32_t kMaxTenantShare = 100;

/// Accepted; `total` tokens are to be computed.
struct QueuedEvent {
  int64_t total = 0;
};

/// Where tokens came from that were found in the cache.
struct CachedTokens {
  int64_t memory = 0;    ///< their K and V stood in memory
  int64_t snapshot = 0;  ///< of a model with recurrent layers: behind a snapshot in memory
  int64_t disk = 0;      ///< brought back from files for this sequence (EngineOptions::disk)

  int64_t total() const { return memory + snapshot + disk; }
  CachedTokens& operator+=(const CachedTokens& other);
};

/// A sequence has pages: `done` of its `total` tokens were found in the cache.
struct AdmittedEvent {
  int64_t done = 0;
  int64_t total = 0;
  CachedTokens from = {};  ///< of these
};

/// `done` of `total` tokens are computed, the last not among them.
struct ChunkEvent {
  int64_t done = 0;
  int64_t total = 0;
};

/// One generated token, as soon as it is known.
struct TokenEvent {
  TokenId token = kNoToken;
  /// Natural log of its probability under the model's own distribution; set if the request's
  /// SamplingParams::top_logprobs is, or best_of needs it.
  std::optional<double> logprob = std::nullopt;
  int64_t index = 0;  ///< 0 for the first generated token of its sequence
  /// The SamplingParams::top_logprobs most likely tokens, likeliest first, ties by token id.
  std::vector<TokenLogprob> top = {};
  /// Nothing of beams, which draw nothing, and of a token that a guess decided
  /// (SpeculationRule::kRejection).
  TokenDraw draw = {};
};

/// The vector of a request with Pooling, of length 1 (L2), or all 0; the one number of
/// Request::score. Its end follows.
struct EmbeddingEvent {
  std::vector<float> values = {};
};

/// How probable the model found the tokens of a prompt, each behind those before it, under its own
/// distribution: natural logarithms, the same bits as TokenEvent has for a token that is generated
/// there. The first token of the prompt stands behind nothing, and has none.
struct PromptLogprobs {
  struct Token {
    double logprob = 0;
    int64_t rank = 0;  ///< 1 for the likeliest token; of equal ones the lowest id goes first
  };
  std::vector<Token> tokens = {};      ///< of prompt[1], prompt[2], ...
  std::vector<TokenLogprob> top = {};  ///< the likeliest in the place of each, one behind the other
  std::vector<size_t> top_ends = {};   ///< where those of each token end in `top`

  /// The likeliest tokens in the place of tokens[index], likeliest first, ties by token id.
  std::span<const TokenLogprob> TopOf(size_t index) const {
    const size_t begin = index == 0 ? 0 : top_ends[index - 1];
    return std::span(top).subspan(begin, top_ends[index] - begin);
  }
};

/// Told once, before the first token, if Request::prompt_logprobs is set.
struct PromptLogprobsEvent {
  std::shared_ptr<const PromptLogprobs> logprobs = nullptr;
};

/// The pages of a sequence went to others; its `total` tokens stay.
struct PreemptedEvent {
  int64_t total = 0;
};

/// It has pages again: `done` of `total` tokens were still in the cache.
struct ResumedEvent {
  int64_t done = 0;
  int64_t total = 0;
  CachedTokens from = {};
};

/// One sequence has ended, by itself or with its request.
struct SequenceFinishedEvent {
  FinishReason reason = FinishReason::kStop;
  double score = 0;  ///< of the text, if beams were searched
};

/// The request has ended, in its own way or cut off.
struct FinishedEvent {
  FinishReason reason = FinishReason::kStop;
  Status status = {};  ///< with kError: what was wrong
  /// The n sequences of the answer. With best_of the best first, equal ones in their order, else
  /// all in their order.
  std::vector<int32_t> answer = {};
};

/// Something that happened to a request.
struct Event {
  RequestId request = {};
  int32_t sequence = 0;  ///< which of the request's sequences
  double seconds = 0;    ///< time of the engine's clock
  std::variant<QueuedEvent, AdmittedEvent, ChunkEvent, PromptLogprobsEvent, TokenEvent,
               EmbeddingEvent, PreemptedEvent, ResumedEvent, SequenceFinishedEvent, FinishedEvent>
      what = {};

  template <typename T>
  bool Is() const {
    return std::holds_alternative<T>(what);
  }
  /// What happened, if it is a T, else nullptr.
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&what);
  }
};

/// "queued", "admitted", "chunk", "prompt logprobs", "token", "embedding", "preempted", "resumed",
/// "sequence finished", "finished".
std::string_view EventName(const Event& event);

/// What a listener answers.
enum class Listening : uint8_t {
  kGoOn,
  /// To a token: it is the last of its sequence, which ends with kStop. No further one is computed;
  /// other sequences of the request go on. To any other event: as kGoOn.
  kEndSequence,
  kGone,  ///< nobody listens any more: the engine cancels the request within the step
};

/// Where the events of one request go. Called on the engine thread between two steps of all
/// requests: it must return at once and must not call the engine.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// Takes an event. Tokens, log probabilities of prompts and ends are pushed only where HasRoom
  /// was true for them.
  virtual Listening Push(const Event& event) = 0;
  /// True if `events` more can be taken. While false for 2 * sequences + 1 events (one more before
  /// log probabilities of the prompt are told) the request is paused: it computes no further token,
  /// and gives its pages up if others wait for them. Other events are left out rather than waited
  /// for.
  virtual bool HasRoom(int64_t events) const = 0;
};

/// A bounded queue from the engine thread to one reader. A reader that is slow pauses its request
/// and costs `capacity` events of memory. Thread-safe.
class EventQueue : public EventSink {
 public:
  /// Enough for any request of `n` sequences is 2 n + 3; more lets the engine run ahead.
  explicit EventQueue(int64_t capacity = 256);
  ~EventQueue() override;

  Listening Push(const Event& event) override;
  bool HasRoom(int64_t events) const override;

  /// The oldest event; waits for one. Not to be called again after FinishedEvent.
  Event Next();
  /// The oldest event, if there is one.
  std::optional<Event> TryNext();
  /// Nobody will read any more: the request is cancelled at its next event.
  void Close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One sequence of a finished request.
struct Alternative {
  std::vector<TokenId> tokens;
  FinishReason reason = FinishReason::kStop;
  double score = 0;  ///< BeamParams
};

/// How a request went.
struct Completion {
  std::vector<TokenId> tokens;  ///< generated; a final end token included
  FinishReason reason = FinishReason::kStop;
  double score = 0;  ///< BeamParams
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;             ///< of the prompt, found in the cache
  CachedTokens cached_from = {};         ///< these, by where they came from
  double prefill_seconds = 0;            ///< until the first token was known (TTFT)
  double decode_seconds = 0;             ///< from then on
  std::vector<Alternative> others = {};  ///< the other n - 1; with best_of or beams best first
  /// If Request::prompt_logprobs was set and the prompt was computed.
  std::shared_ptr<const PromptLogprobs> prompt_logprobs = nullptr;
};

/// What became of a request with Pooling.
struct Embedding {
  std::vector<float> values;  ///< of length 1 (L2), or all 0; of Request::score the one number
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  ///< of the prompt, found in the cache
};

}  // namespace skald
