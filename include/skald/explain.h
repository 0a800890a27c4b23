/// Explain: what happens between a prompt and its answer, step by step, with shapes and costs.
///
///     ExplainQuestion question;
///     question.prompt = *model.tokenizer().Encode("Once upon a time");
///     Result<Explanation> explanation =
///         ExplainRun(model, question, [] { return true; });
///     for (const Call& call : explanation->steps.front().tree.calls)
///       std::cout << call.name << ": " << *call.seconds << " s\n";
///
/// An engine answers the question as it answers any other, and writes down what it does: its record
/// (skald/trace.h) and the times of each forward pass. Shapes, bytes and operations are those that
/// the blocks of the network count for `skald bench` and `skald plan`. No bit of the answer depends
/// on being watched.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "skald/bench.h"
#include "skald/engine.h"
#include "skald/model.h"
#include "skald/sampling_params.h"
#include "skald/status.h"
#include "skald/trace.h"
#include "skald/version.h"

namespace skald {

/// Bound of ExplainQuestion::max_tokens: more steps than this nobody reads.
inline constexpr int64_t kMaxExplainTokens = 64;

/// Bound of prompt and answer together where attention is asked for: a map with more rows nobody
/// can read, and its data would be hundreds of megabytes.
inline constexpr int64_t kMaxAttentionTokens = 256;

/// What is asked, and how.
struct ExplainQuestion {
  std::vector<TokenId> prompt;
  SamplingParams sampling = {};
  int64_t max_tokens = 8;  ///< of the answer, 1 to kMaxExplainTokens
  /// Asks the same once before, unwatched: the beginning of the prompt is in the cache then.
  bool warm = false;
  /// Attention weights, too (--attention): memory grows with the square of the text. Prompt and
  /// answer have at most kMaxAttentionTokens then.
  bool attention = false;
  /// What is made of the prompt by a model that embeds texts; others do not look at it.
  Pooling pooling = Pooling::kMean;
  EngineOptions engine = {};  ///< its trace and step log are set here
  /// What times are compared with, if they are.
  std::optional<Ceilings> ceilings = std::nullopt;
};

/// What a call is, from the outside to the inside.
enum class CallKind : uint8_t {
  kStep,       ///< a forward pass
  kLayer,      ///< what has a number in the network
  kBlock,      ///< a mixer, a feed-forward, the embedding, the head
  kOperation,  ///< what stands between two barriers, all of a block together
  kMatrix,     ///< one product of an operation; it has no time of its own
};

/// A call with what it calls: a tree. Work and seconds of a call are the sums of those within.
struct Call {
  CallKind kind = CallKind::kStep;
  std::string name = {};               ///< "layer 3", "attention", "blk.3.attn_q.weight"
  int64_t layer = -1;                  ///< -1: of no layer
  std::vector<int64_t> input = {};     ///< shape, outermost first; empty: not one shape
  std::vector<int64_t> operand = {};   ///< what it meets: a matrix, keys and values, a state
  std::vector<int64_t> output = {};    ///< shape of the result
  BenchWork work = {};                 ///< bytes of operands and results, each counted once
  std::optional<double> seconds = {};  ///< not of matrices
  /// The least time under the ceilings, if there are any: of an operation that of its work, of what
  /// stands above that of the arithmetic of its matrices and of weights, K, V and states.
  std::optional<Bound> bound = {};
  std::vector<Call> calls = {};

  /// Multiply-accumulates of all kinds; an operation is half of one.
  double macs() const { return work.int8_macs + work.bfloat16_macs + work.float_macs; }
  /// The bound as a share of the time; nothing where either is unknown.
  std::optional<double> share() const {
    if (!bound || !seconds || !(*seconds > 0)) return std::nullopt;
    return bound->seconds / *seconds;
  }
};

/// Where a token or its K and V came from.
enum class TokenOrigin : uint8_t {
  kCached,    ///< of the prompt, found in the cache
  kComputed,  ///< of the prompt, computed in a step
  kDrawn,     ///< by the model
};
/// "cached", "computed", "drawn".
std::string_view TokenOriginName(TokenOrigin origin);

/// A token of prompt or answer.
struct ExplainedToken {
  TokenId id = kNoToken;
  std::string text = {};  ///< its bytes: not always whole characters
  TokenOrigin origin = TokenOrigin::kComputed;
};

/// A filter on the way from the model's distribution to the draw, and what it left.
struct ExplainedFilter {
  std::string name = {};  ///< "model", "temperature", "top-k", ...; "greedy"
  int64_t left = 0;       ///< tokens that may still be drawn
};

/// A token that could have been drawn.
struct ExplainedChance {
  TokenId token = kNoToken;
  std::string text = {};                   ///< its bytes
  std::vector<double> probabilities = {};  ///< behind each filter; 0 from the one on that cut it
  /// -ln(1 - u) / p with its own random number u and the last p: the smallest is drawn. Unknown
  /// where nothing is drawn and of what was cut.
  std::optional<double> race = {};
};

/// Tokens that are listed of a choice, besides the drawn one.
inline constexpr size_t kMostChances = 20;

/// How a token was chosen.
struct ExplainedChoice {
  TokenId drawn = kNoToken;
  std::vector<ExplainedFilter> filters = {};  ///< in their order, those that are on
  std::vector<ExplainedChance> chances =
      {};  ///< the model's likeliest first; the drawn one is there
  /// The same choice as the engine's record has it (skald/trace.h), which must agree.
  int64_t recorded_candidates = 0;
  double recorded_probability = kTraceUnknown;
};

/// How a page came to the sequence.
enum class PageSource : uint8_t {
  kShared,  ///< found in the cache
  kTaken,   ///< a free one
  kCopied,  ///< of a shared one that had room, to write behind its tokens
};
/// "shared", "taken", "copied".
std::string_view PageSourceName(PageSource source);

/// A page of K and V.
struct ExplainedPage {
  int32_t id = 0;  ///< in the engine's pool
  int64_t first_position = 0;
  PageSource source = PageSource::kTaken;
};

/// Positions of a page.
inline constexpr int64_t kExplainedPagePositions = 32;

/// A forward pass.
struct ExplainedStep {
  int64_t first_position = 0;
  int64_t rows = 0;
  int64_t logit_rows = 0;
  bool is_prefill = false;                     ///< its rows are of the prompt
  TokenId drawn = kNoToken;                    ///< from its logits; kNoToken: none
  std::optional<ExplainedChoice> choice = {};  ///< of that token
  Call tree = {};
};

/// How one head of one layer shares its attention among the positions that a row sees.
struct ExplainedAttention {
  int64_t layer = 0;
  bool beside = false;    ///< of the second mixer of the layer
  int64_t head = 0;       ///< query head
  int64_t position = 0;   ///< of the row
  int64_t first_key = 0;  ///< position of weights[0]
  /// By position. They add up to 1, or to less where the head has a sink.
  std::vector<float> weights = {};
};

/// All of it.
struct Explanation {
  ModelInfo model = {};
  std::string isa = {};
  int threads = 0;
  int64_t context = 0;  ///< of the engine
  SamplingParams sampling = {};
  std::optional<Ceilings> ceilings = {};
  std::vector<ExplainedToken> tokens = {};  ///< prompt, then answer
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  ///< of these, found in the cache
  std::vector<ExplainedStep> steps = {};
  std::vector<ExplainedPage> pages = {};  ///< of the sequence, by position
  /// Where asked for: of each step by layer, position and head. Rows behind the last mixer that
  /// nobody reads are not computed, so not here.
  std::vector<ExplainedAttention> attention = {};
};

/// Answers the question, watched. `go_on` is asked once a token; false ends it. Errors:
/// kInvalidArgument (no prompt, max_tokens out of range), kCancelled; as Engine::Create and
/// Engine::Submit, what the request ended with.
Result<Explanation> ExplainRun(const Model& model, const ExplainQuestion& question,
                               const std::function<bool()>& go_on);

/// All of it as one JSON object.
std::string ExplainJson(const Explanation& explanation);

/// All of it as one HTML document that needs nothing from elsewhere, runs no script and is light or
/// dark as the reader has it. What a model or its file says is text in it and never markup.
/// `command`: what made it; it stands below.
std::string ExplainPage(const Explanation& explanation, const std::string& command);

}  // namespace skald
