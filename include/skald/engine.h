/// Engine: runs a model. Tokens in, tokens out, for any number of requests at once.
///
///     Result<Engine> engine = Engine::Create(model, {.context = 2048});
///     Request request{.prompt = *model.tokenizer().Encode("Once upon a time"),
///                     .sampling = {.seed = 7}};
///     auto events = std::make_shared<EventQueue>();
///     Result<RequestId> id = engine->Submit(std::move(request), events);
///     for (Event event = events->Next(); !event.Is<FinishedEvent>(); event = events->Next()) {
///       if (const auto* token = event.As<TokenEvent>()) std::cout << token->token << '\n';
///     }
///
/// The answer to a request is a pure function of (model file, numerics version, prompt, sampling
/// parameters, seed): the same bits for any number of threads, any chunk size and any instruction
/// set (docs/numerics.md), whatever runs beside it, whatever was cached, and however often it was
/// preempted.
///
/// One thread of the engine computes: decode rows of all running sequences and chunks of prompts in
/// one step. Prefixes that are computed are kept in a tree and shared to the token, also with
/// requests still running. When pages run out, cached ones are evicted, then the youngest request
/// is preempted; it resumes later with the tokens it had.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/disk_cache.h"
#include "skald/engine_plan.h"
#include "skald/engine_stats.h"
#include "skald/engine_view.h"
#include "skald/ids.h"
#include "skald/model.h"
#include "skald/request.h"
#include "skald/sampling_params.h"
#include "skald/status.h"
#include "skald/trace.h"
#include "skald/version.h"

namespace skald {

namespace model {
class StepLog;
}

struct BenchWork;

/// Version of the numerics specification this library implements; changes whenever any output bit
/// may change.
inline constexpr int kNumericsVersion = 3;

/// Instructions that the kernels have variants for. All give the same bits.
struct InstructionSet {
  std::string_view name;   ///< "avx512"
  bool supported = false;  ///< by this CPU and operating system
};
/// All of them, slowest first; the first, "scalar", runs everywhere.
std::vector<InstructionSet> InstructionSets();

/// Element type of K or V in the KV cache.
enum class KvCacheType : uint8_t {
  kF16,
  kBF16,
  kF32,
  kQ8,  ///< integers of 8 bits, a scale for each head and position; not for latent attention
  kQ4,  ///< of 4 bits
};

/// Those of K and V.
struct KvCacheTypes {
  KvCacheType keys = KvCacheType::kF16;
  KvCacheType values = KvCacheType::kF16;

  constexpr KvCacheTypes() = default;
  constexpr KvCacheTypes(KvCacheType both) : keys(both), values(both) {}  // NOLINT: one for both
  constexpr KvCacheTypes(KvCacheType of_keys, KvCacheType of_values)
      : keys(of_keys), values(of_values) {}
  bool operator==(const KvCacheTypes&) const = default;
};

/// Who guesses tokens ahead, for the model to check several of them in one pass.
enum class Speculation : uint8_t {
  kOff,    ///< nobody; but what a constraint leaves no choice about is computed in one pass still
  kNgram,  ///< what followed the same few tokens before, in prompt or output
  kDraft,  ///< a smaller model
  kChain,  ///< n-grams, and where they know nothing the smaller model
};

/// When a guessed token is kept.
enum class SpeculationRule : uint8_t {
  /// If it is the token that comes without speculation. Tokens do not depend on the guesses, only
  /// how soon they come.
  kExact,
  /// With the probability that keeps the distribution of the text (Leviathan et al. 2023, Chen et
  /// al. 2023): more guesses of a draft model are kept, but the text depends on what was guessed.
  kRejection,
};

/// Guessed tokens of one sequence: beyond this hardly any is right.
inline constexpr int64_t kMaxDraft = 64;

/// Speculation: the text comes sooner, with kExact it is the same to the last bit.
struct SpeculationOptions {
  Speculation kind = Speculation::kOff;
  SpeculationRule rule = SpeculationRule::kExact;
  /// The smaller model, of the same vocabulary; with kDraft and kChain.
  std::optional<Model> draft = std::nullopt;
  int64_t max_draft = 8;  ///< most tokens guessed at a time for a sequence, 1 to kMaxDraft
  /// Guesses have at least so many tokens, also where measurements say that fewer pay.
  int64_t min_draft = 0;
};

/// Size and resources of an engine.
struct EngineOptions {
  int64_t context = 0;  ///< positions of the longest request; 0 = the model's, at most 4096
  /// Most prompt tokens computed in one step. A model that reads texts both ways, to embed them,
  /// has room for a context in each step, whatever this says: its texts are not cut.
  int64_t max_chunk = 512;
  int threads = 0;  ///< 0 = all cores available to the process
  /// A name of InstructionSets(), or "best": the last of them that is supported.
  std::string isa = "best";
  KvCacheTypes kv_types = {};
  int64_t kv_positions = 0;  ///< positions of all requests and the cache together; 0 = context
  /// Bytes for snapshots of what recurrent layers carry, beside those of running sequences; -1 =
  /// half of what K and V take, four snapshots at least.
  int64_t state_memory = -1;
  int64_t max_running = 16;   ///< sequences that compute at the same time
  int64_t max_queued = 1024;  ///< requests that wait, whatever their n; more are refused
  /// Seconds a step may take while streams run; prompts are cut to fit. 0 = twice what a step
  /// without prompts takes.
  double target_tbt_seconds = 0;
  SpeculationOptions speculation = {};
  /// Where pages go that memory is short of, or that are cached at the end, and come back from: for
  /// one engine at a time. Not for a model with recurrent layers, with windows shorter than the
  /// context, or one that reads texts both ways: Engine::Create refuses these. With it, Create
  /// reads the model's whole file (Model::Sha256). No answer depends on it.
  std::shared_ptr<DiskCache> disk = nullptr;
  /// Takes a record of what the engine does (skald/trace.h). No answer depends on it.
  std::shared_ptr<TraceRing> trace = nullptr;
  /// Takes times of each forward pass, part by part: what ExplainRun reads (skald/explain.h).
  std::shared_ptr<model::StepLog> step_log = nullptr;
};

/// Runs requests on one model. Thread-safe, but for moving and destruction.
class Engine {
 public:
  /// Reserves everything requests can need: KV pages, activations for a step, threads. Errors:
  /// kInvalidArgument (a size out of range, an instruction set this CPU lacks, a draft model of
  /// another vocabulary, types that the KV cache of the model cannot have), kResourceExhausted with
  /// the numbers.
  static Result<Engine> Create(const Model& model, const EngineOptions& options);
  /// What Create makes of these options, and the memory that it takes: nothing is reserved.
  /// Speculation counts with its rows, a draft model with nothing. Errors: as Create, but for
  /// memory that the machine does not have.
  static Result<EnginePlan> Plan(const Model& model, const EngineOptions& options);
  /// Cancels what is left; their sinks hear it.
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  /// Queues a request; its events go to `sink`, which lives as long as the engine needs it. Returns
  /// at once.
  /// Errors: kInvalidArgument (empty prompt, token out of range, parameters, a sink too small),
  /// kResourceExhausted: the prompt is longer than the context, or the request can need more pages
  /// than there are; kUnavailable: the queue is full; with the numbers.
  Result<RequestId> Submit(Request request, std::shared_ptr<EventSink> sink);

  /// Ends a request in whatever state it is, before the next step, and frees what it held. Its sink
  /// hears FinishedEvent with kCancelled, unless it has ended before. Returns at once.
  void Cancel(RequestId id);

  /// As of the last step; who runs and waits, as of the one being computed.
  EngineStats Stats() const;

  /// The requests that have not ended, in the order of Submit: each as of a step not long ago (some
  /// 20 ms), those that have come since as queued.
  std::vector<RequestProgress> Requests() const;

  /// What it looks like inside now, or a moment ago: for people who watch it, several times a
  /// second. A view is taken at the beginning of a step, at most ten a second, and only where
  /// somebody has looked since the last; so the first call gives none. It costs the engine thread
  /// less than half a percent of its time.
  EngineLook Look();
  /// What a viewed step cannot do without (skald/bench.h), each sequence as long as their mean.
  BenchWork WorkOf(const ViewedWork& work) const;

  /// Called once per generated token; false ends the request with kCancelled. The prompt is checked
  /// for cancellation between chunks by calling it with token kNoToken. Runs on the engine thread
  /// while the caller of Generate waits: it must not call the engine, and what it does delays all
  /// requests. Of a request with several sequences it sees the first.
  using OnToken = std::function<bool(const TokenEvent& event)>;

  /// Submits one request and waits for its end. Errors: as Submit; kNumeric (the logits are NaN:
  /// broken weights).
  Result<Completion> Generate(const Request& request, const OnToken& on_token);

  /// Submits a request with Pooling and waits for its vector. Errors: as Submit; kInvalidArgument
  /// (without Pooling), kNumeric (broken weights), kCancelled (its deadline, or the engine's end).
  Result<Embedding> Embed(Request request);

  /// A number that changes every few milliseconds while the engine computes, also within a step:
  /// who watches it sees whether an engine that should be at work is. Costs nothing.
  uint64_t progress() const;

  /// A thread that takes events to clients has some to take. Until it is served the threads that
  /// compute give their processors up for a moment now and then: where they want all there are, it
  /// would wait for one for up to 4 ms (docs/decisions/0060). Any thread may say so, as often as it
  /// likes: it costs some nanoseconds.
  void ReaderWaits();
  /// It has taken all there were. Where several take events, the last word counts.
  void ReaderIsServed();

  /// Numbers of an embedding.
  int64_t embedding_width() const;
  /// The context in positions, and the threads in use.
  int64_t context() const;
  int threads() const;
  /// Sequences that compute at the same time, and requests that wait beside them, at most.
  int64_t max_running() const;
  int64_t max_queued() const;
  /// "avx512": the variants in use.
  std::string_view isa_name() const;
  /// Bytes that it has reserved, with the weights of its model.
  EngineMemory memory() const;
  /// Bytes reserved for KV pages.
  int64_t kv_bytes() const;
  /// Bytes reserved for what recurrent layers carry, of running sequences and of snapshots; 0
  /// without such layers. A model that has them gets no guesses, whatever SpeculationOptions say,
  /// and no beam search.
  int64_t state_bytes() const;

  /// What stands behind an Engine. Defined by the engine room.
  struct State;

 private:
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skald
