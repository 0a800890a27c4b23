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

#include <array>
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

/// Bound of prompt and answer together where attention or experts are asked for: a figure of more
/// tokens nobody can read, and its data would be hundreds of megabytes.
inline constexpr int64_t kMaxTappedTokens = 256;

/// What is asked, and how.
struct ExplainQuestion {
  std::vector<TokenId> prompt;
  SamplingParams sampling = {};
  int64_t max_tokens = 8;  ///< of the answer, 1 to kMaxExplainTokens
  /// Asks the same once before, unwatched: the beginning of the prompt is in the cache then.
  bool warm = false;
  // What else is looked at, each in every step. No bit of the answer depends on it, but the times
  // of the steps do.
  bool attention = false;  ///< Explanation::attention; memory grows with the square of the text
  bool lens = false;       ///< ExplainedStep::lens; not of a model that embeds texts
  bool experts = false;    ///< Explanation::experts
  bool tensors = false;    ///< Call::card, Explanation::weights
  /// ExplainedToken::probability of the prompt, too. Its logits are computed, so all of it is,
  /// whatever is cached; not of a model that embeds texts.
  bool prompt_probabilities = false;
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

/// Bins of TensorCard, and values that it lists from either end.
inline constexpr size_t kCardBins = 32;
inline constexpr int64_t kCardValues = 4;

/// What the values of a tensor look like.
struct TensorCard {
  std::vector<int64_t> shape = {};
  int64_t count = 0;       ///< values that were looked at: of large matrices not all
  int64_t not_finite = 0;  ///< of these; they are in nothing below but the lists
  double min = 0;
  double mean = 0;
  double max = 0;
  std::vector<float> first = {};  ///< kCardValues of the first row, or as many as it has
  std::vector<float> last = {};   ///< likewise of the last
  /// Values in as many equal parts of [min, max].
  std::array<int64_t, kCardBins> bins = {};
};

/// A card with the name of what it is of: a tensor of the model's file, or values of a step.
struct ExplainedTensor {
  std::string name = {};
  TensorCard card = {};
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
  /// Where asked for (ExplainQuestion::tensors): of what a block gives; of a layer the residual
  /// stream behind it, whose sums the engine makes on the way, so that here alone it stands whole.
  std::optional<TensorCard> card = {};
  /// Likewise, of a mixer what it reads: "query", "key" and "value" behind their norms and RoPE, of
  /// latent attention "query" before it and the "latent" of keys and values. Where it reads the K
  /// and V of another layer, its queries alone; where it has none of them, nothing.
  std::vector<ExplainedTensor> tensors = {};
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
  /// How likely the model found it behind what stands before it, with no filter; of a token of the
  /// prompt where that was asked for, never of the first.
  std::optional<double> probability = {};
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
  /// The first step for which layers with windows no longer had it: no row to come sees that far
  /// back.
  std::optional<int64_t> window_left = {};
};

/// What layers keep of the text that see a part of it, or carry a state.
struct ExplainedMemory {
  int64_t full_layers = 0;     ///< that keep K and V of all positions
  int64_t window_layers = 0;   ///< that keep them of a window
  int64_t window = 0;          ///< positions that a row of these sees at most, itself included
  int64_t state_layers = 0;    ///< that carry a state, which each token overwrites
  int64_t state_bytes = 0;     ///< of all of them
  int64_t position_bytes = 0;  ///< of K and V of a position, in all layers that keep it
  /// Behind so many tokens a copy of the state stayed in the prefix tree (a snapshot).
  std::vector<int64_t> snapshots = {};
};

/// Positions of a page.
inline constexpr int64_t kExplainedPagePositions = 32;

/// The token that the model would give if it ended behind a layer (logit lens): what stands there
/// of the row that draws, through the final norm and the head.
struct ExplainedLens {
  int64_t layer = 0;
  TokenId best = kNoToken;
  std::string text = {};         ///< its bytes
  double probability = 0;        ///< of the best
  double drawn_probability = 0;  ///< of the token that was drawn in the end
};

/// A forward pass.
struct ExplainedStep {
  int64_t first_position = 0;
  int64_t rows = 0;
  int64_t logit_rows = 0;
  bool is_prefill = false;                     ///< its rows are of the prompt
  TokenId drawn = kNoToken;                    ///< from its logits; kNoToken: none
  std::optional<ExplainedChoice> choice = {};  ///< of that token
  std::vector<ExplainedLens> lens = {};        ///< by layer, where asked for
  Call tree = {};
};

/// How one head of one layer shares its attention among the positions that a row sees.
struct ExplainedAttention {
  int64_t layer = 0;
  bool beside = false;    ///< of the second mixer of the layer
  int64_t head = 0;       ///< query head
  int64_t position = 0;   ///< of the row
  int64_t first_key = 0;  ///< position of weights[0]
  /// By position. They add up to 1, with the sink's share where the head has a sink.
  std::vector<float> weights = {};
  std::optional<double> sink = {};
};

/// A head in numbers: means over its rows.
struct ExplainedHead {
  int64_t layer = 0;
  bool beside = false;
  int64_t head = 0;
  /// Of the weights, and the sink's share, as a distribution: 0 where each row looks at one
  /// position alone, log2(n) where it looks at n alike.
  double entropy_bits = 0;
  /// Tokens back from a row to where it looks, weighted.
  double distance = 0;
};

/// The experts that a router chose for a token.
struct ExplainedExperts {
  int64_t layer = 0;
  int64_t position = 0;
  int64_t count = 0;                  ///< experts of the layer
  std::vector<int32_t> experts = {};  ///< the chosen, ascending
  std::vector<float> weights = {};    ///< of each
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
  std::vector<ExplainedHead> heads = {};  ///< of that attention, by layer and head
  /// Where asked for, likewise.
  std::vector<ExplainedExperts> experts = {};
  ExplainedMemory memory = {};
  /// Where asked for (ExplainQuestion::tensors): the matrices of the model, in the order in which
  /// a step reads them.
  std::vector<ExplainedTensor> weights = {};
};

/// The cards of a tree in the order in which a step makes their values, each with its place in its
/// name: "embedding", "layer 3 attention: query", "layer 3: residual stream".
std::vector<ExplainedTensor> CardsOf(const Call& tree);

/// Answers the question, watched. `go_on` is asked once a token; false ends it. Errors:
/// kInvalidArgument (no prompt, max_tokens or what is looked at out of range, attention of a model
/// that was split among ranks), kCancelled; as Engine::Create and Engine::Submit, what the request
/// ended with.
Result<Explanation> ExplainRun(const Model& model, const ExplainQuestion& question,
                               const std::function<bool()>& go_on);

/// All of it as one JSON object.
std::string ExplainJson(const Explanation& explanation);

/// All of it as one HTML document that needs nothing from elsewhere, runs no script and is light or
/// dark as the reader has it. What a model or its file says is text in it and never markup.
/// `command`: what made it; it stands below.
std::string ExplainPage(const Explanation& explanation, const std::string& command);

}  // namespace skald
