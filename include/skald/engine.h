/// Engine: runs a model. Tokens in, tokens out.
///
///     Result<Engine> engine = Engine::Create(model, {.context = 2048});
///     Request request{.prompt = model.tokenizer().Encode("Once upon a time"),
///                     .sampling = {.seed = 7}};
///     Result<Completion> done =
///         engine->Generate(request, [&](const TokenEvent& event) { ... return true; });
///
/// The answer to a request is a pure function of (model file, numerics version, prompt, sampling
/// parameters, seed): the same bits for any number of threads, any chunk size and any instruction
/// set (docs/numerics.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "skald/ids.h"
#include "skald/model.h"
#include "skald/sampling_params.h"
#include "skald/status.h"

namespace skald {

/// Version of the numerics specification this library implements; changes whenever any output bit
/// may change.
inline constexpr int kNumericsVersion = 2;

/// Which variants of the kernels to use. All give the same bits.
enum class InstructionSet : uint8_t { kBest, kScalar, kAvx2, kAvx512 };

/// Element type of the KV cache.
enum class KvCacheType : uint8_t { kF16, kF32 };

/// Size and resources of an engine.
struct EngineOptions {
  int64_t context = 0;         ///< positions of the longest request; 0 = the model's, at most 4096
  int64_t max_chunk = 512;     ///< prompt tokens computed in one step
  int64_t max_logit_rows = 1;  ///< rows per step that may ask for logits (1 is enough for Generate)
  int threads = 0;             ///< 0 = all cores available to the process
  InstructionSet isa = InstructionSet::kBest;
  KvCacheType kv_type = KvCacheType::kF16;
};

/// Why a request ended.
enum class FinishReason : uint8_t {
  kStop,       ///< the model ended the text, or a stop token came
  kLength,     ///< max_tokens reached
  kContext,    ///< the context is full
  kCancelled,  ///< the caller's callback said so
};

/// "stop", "length", "context", "cancelled".
std::string_view FinishReasonName(FinishReason reason);

/// When to end. A stop string is the caller's business (StopMatcher in skald/tokenizer.h): the
/// engine knows no text.
struct StopRules {
  int64_t max_tokens = -1;           ///< -1 = until the model stops or the context is full
  bool ignore_eos = false;           ///< go on after an end-of-generation token
  std::vector<TokenId> stop_tokens;  ///< further tokens that end the text, besides the model's own
};

/// What to compute.
struct Request {
  std::vector<TokenId> prompt;  ///< not empty; BOS included if the model wants one
  SamplingParams sampling = {};
  StopRules stop = {};
};

/// One generated token, as soon as it is known.
struct TokenEvent {
  TokenId token = kNoToken;
  /// Natural log of its probability under the model's own distribution; set if the request's
  /// SamplingParams::top_logprobs is.
  std::optional<double> logprob;
  int64_t index = 0;  ///< 0 for the first generated token
};

/// How a request went.
struct Completion {
  std::vector<TokenId> tokens;  ///< generated; a final end token included
  FinishReason reason = FinishReason::kStop;
  int64_t prompt_tokens = 0;
  double prefill_seconds = 0;  ///< until the first token was known (TTFT without queueing)
  double decode_seconds = 0;   ///< from then on
};

/// Runs requests on one model. Not thread-safe: one thread at a time (the engine thread).
class Engine {
 public:
  /// Reserves everything a request can need: KV pages for `context` positions, activations for
  /// `max_chunk` rows, threads. Errors: kInvalidArgument (a size out of range, an instruction set
  /// this CPU lacks), kResourceExhausted with the numbers.
  static Result<Engine> Create(const Model& model, const EngineOptions& options);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  /// Called once per generated token; false ends the request with kCancelled. The prompt is checked
  /// for cancellation between chunks by calling it with token kNoToken.
  using OnToken = std::function<bool(const TokenEvent& event)>;

  /// Computes the answer to one request.
  /// Errors: kInvalidArgument (empty prompt, token out of range, sampling parameters),
  /// kResourceExhausted (prompt longer than the context, with the numbers), kNumeric (the logits
  /// are NaN: broken weights).
  Result<Completion> Generate(const Request& request, const OnToken& on_token);

  /// Computes the logits of every position of `tokens`, which are cut into steps of the given sizes
  /// (the last size repeats; empty = one step). Rows arrive in order; a row is vocabulary-sized and
  /// valid during the call only. Requires max_logit_rows and max_chunk of at least the largest
  /// chunk. Errors as Generate.
  Status ComputeLogits(std::span<const TokenId> tokens, std::span<const int64_t> chunks,
                       const std::function<Status(std::span<const float> row)>& on_row);

  /// The context in positions, and the threads in use.
  int64_t context() const;
  int threads() const;
  /// "avx512": the variants in use.
  std::string_view isa_name() const;
  /// Bytes reserved for KV pages.
  int64_t kv_bytes() const;

  /// What stands behind an Engine. Defined by the engine room.
  struct State;

 private:
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skald
