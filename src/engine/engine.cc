#include "skald/engine.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "engine/bench_work.h"
#include "engine/completion_sink.h"
#include "engine/core.h"
#include "engine/disk_tier.h"
#include "engine/engine_loop.h"
#include "engine/logged_network.h"
#include "engine/mask_threads.h"
#include "engine/options.h"
#include "engine/request_check.h"
#include "engine/runner.h"
#include "engine/sizes.h"
#include "engine/speculation.h"
#include "model/transformer.h"
#include "skald/bench.h"
#include "skald/transcript.h"

namespace skald {
namespace {

engine::Sharing SharingOf(const engine::ResolvedOptions& options) {
  return options.whole_texts ? engine::Sharing::kNone : engine::Sharing::kPrefixes;
}

engine::PromptRule PromptRuleOf(const engine::ResolvedOptions& options) {
  return options.whole_texts ? engine::PromptRule::kWhole : engine::PromptRule::kInChunks;
}

}  // namespace

// Everything behind an engine. The loop is last: it ends before what its thread works with.
struct Engine::State {
  // What can fail to be made.
  struct Parts {
    std::unique_ptr<engine::Runner> runner;
    std::unique_ptr<engine::Proposer> proposer;
    sampling::Sampler sampler;
    std::shared_ptr<TraceRing> trace;
    std::shared_ptr<model::StepLog> step_log;
    std::shared_ptr<DiskCache> disk;  // serves the runner's pages
  };

  State(const Model& model_of_engine, const engine::ResolvedOptions& resolved, Parts parts)
      : model(model_of_engine),
        options(resolved),
        limits({.context = resolved.context,
                .vocab = model.transformer().network().vocab,
                .page_count = resolved.page_count,
                .max_running = resolved.max_running,
                .has_states = resolved.state_slots > 0,
                .generates = !resolved.whole_texts && !model.info().rank_pooling,
                .rank_pooling = model.info().rank_pooling}),
        runner(std::move(parts.runner)),
        logged(parts.step_log ? std::optional<engine::LoggedNetwork>(std::in_place, runner.get(),
                                                                     std::move(parts.step_log))
                              : std::nullopt),
        proposer(std::move(parts.proposer)),
        trace(std::move(parts.trace)),
        cache(resolved.page_count, resolved.state_slots, SharingOf(resolved), resolved.windows),
        chooser(std::move(parts.sampler), engine::EndTokens(model), resolved.context,
                resolved.rule),
        tracer(trace ? std::optional<engine::Tracer>(std::in_place, trace.get(), clock)
                     : std::nullopt),
        disk(parts.disk
                 ? std::make_unique<engine::DiskTier>(std::move(parts.disk), &cache, &network(),
                                                      &clock, tracer ? &*tracer : nullptr)
                 : nullptr),
        core({.context = resolved.context,
              .max_rows = resolved.max_rows,
              .max_chunk = resolved.max_chunk,
              .max_running = resolved.max_running,
              .target_seconds = resolved.target_seconds,
              .least_draft = resolved.least_draft,
              .most_draft = resolved.most_draft,
              .max_draft_rows = resolved.max_draft_rows,
              .drafts = resolved.drafts,
              .prompts = PromptRuleOf(resolved)},
             {.network = network(),
              .clock = clock,
              .cache = cache,
              .scheduler = scheduler,
              .chooser = chooser,
              .proposer = proposer.get(),
              .tracer = tracer ? &*tracer : nullptr,
              .tier = disk ? &disk->tier() : nullptr,
              .masks = &masks}),
        loop(&core, &clock, resolved.max_queued) {}

  engine::Network& network() { return logged ? static_cast<engine::Network&>(*logged) : *runner; }

  Model model;
  engine::ResolvedOptions options;
  engine::RequestLimits limits;
  engine::RealClock clock;
  std::unique_ptr<engine::Runner> runner;
  std::optional<engine::LoggedNetwork> logged;
  std::unique_ptr<engine::Proposer> proposer;
  std::shared_ptr<TraceRing> trace;
  engine::CacheManager cache;
  engine::Scheduler scheduler;
  engine::TokenChooser chooser;
  std::optional<engine::Tracer> tracer;
  std::unique_ptr<engine::DiskTier> disk;  // null: what is evicted is gone
  engine::MaskThreads masks;
  engine::Core core;
  engine::EngineLoop loop;
};

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result<Engine> Engine::Create(const Model& model, const EngineOptions& options) {
  const FloatMode mode;  // tables are computed here
  const model::Transformer& transformer = model.transformer();
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved,
                   engine::Resolve(options, transformer.network()));
  const auto threads = std::make_shared<ThreadPool>(resolved.threads);
  ASSIGN_OR_RETURN(auto runner, engine::MakeRunner(model, resolved, threads));
  ASSIGN_OR_RETURN(auto proposer,
                   engine::MakeProposer(model, options.speculation, resolved, threads));
  ASSIGN_OR_RETURN(sampling::Sampler sampler,
                   sampling::Sampler::Create(transformer.network().vocab, resolved.isa));
  if (options.disk) {
    RETURN_IF_ERROR(engine::ServePages(options.disk.get(), model, resolved, *runner));
  }
  return Engine(std::make_unique<State>(
      model, resolved,
      State::Parts{std::move(runner), std::move(proposer), std::move(sampler), options.trace,
                   options.step_log, options.disk}));
}

Result<EnginePlan> Engine::Plan(const Model& model, const EngineOptions& options) {
  const model::Network& network = model.transformer().network();
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved, engine::Resolve(options, network));
  ASSIGN_OR_RETURN(EnginePlan plan, engine::PlanOf(network, resolved, model.info().weight_bytes));
  if (model.parts().size() > 1) {
    ASSIGN_OR_RETURN(plan.memory, engine::MemoryOf(model.parts(), resolved));
    plan.memory.weights = model.info().weight_bytes;
  }
  return plan;
}

Result<RequestId> Engine::Submit(Request request, std::shared_ptr<EventSink> sink) {
  CHECK(sink != nullptr);
  Status status = engine::CheckRequest(request, state_->limits);
  const int64_t room = request.least_room();
  if (status.ok() && !sink->HasRoom(room)) {
    status = Status(ErrorCode::kInvalidArgument,
                    "the event sink has no room for " + std::to_string(room) + " events");
  }
  if (!status.ok()) {
    state_->loop.CountRefusal();
    return status;
  }
  return state_->loop.Submit(std::move(request), std::move(sink));
}

void Engine::Cancel(RequestId id) { state_->loop.Cancel(id); }

EngineStats Engine::Stats() const { return state_->loop.Stats(); }
std::vector<RequestProgress> Engine::Requests() const { return state_->loop.Requests(); }
EngineLook Engine::Look() { return state_->loop.Look(); }

BenchWork Engine::WorkOf(const ViewedWork& viewed) const {
  if (viewed.rows == 0) return {};
  const model::Network& network = state_->model.transformer().network();
  model::StepWork work;
  model::AddWork(network, engine::SizesOf(network, state_->options).layout,
                 {.rows = viewed.rows,
                  .sequences = viewed.sequences,
                  .first_position = viewed.mean_position,
                  .logit_rows = viewed.logit_rows},
                 work);
  return engine::PublicWork(model::Essential(work));
}

Result<Completion> Engine::Generate(const Request& request, const OnToken& on_token) {
  const auto sink = std::make_shared<engine::CompletionSink>(request, on_token);
  RETURN_IF_ERROR(Submit(request, sink).status());
  return sink->Wait();
}

Result<Embedding> Engine::Embed(Request request) {
  if (request.pooling == Pooling::kNone) {
    return Status(ErrorCode::kInvalidArgument, "pooling is none, expected first, last or mean");
  }
  Transcript answer(request);
  const auto events = std::make_shared<EventQueue>();
  RETURN_IF_ERROR(Submit(std::move(request), events).status());
  while (!answer.end) answer.Add(events->Next());
  RETURN_IF_ERROR(answer.end->status);
  if (answer.end->reason == FinishReason::kStop)
    return Embedding{.values = std::move(answer.embedding),
                     .prompt_tokens = answer.prompt_tokens,
                     .cached_tokens = answer.cached_tokens};
  return Status(ErrorCode::kCancelled, "the request has ended before its embedding was computed: " +
                                           std::string(FinishReasonName(answer.end->reason)));
}

void Engine::ReaderWaits() { state_->runner->Note(Others::kWait); }
void Engine::ReaderIsServed() { state_->runner->Note(Others::kNone); }

int64_t Engine::embedding_width() const {
  return model::HiddenWidth(state_->model.transformer().network());
}
int64_t Engine::context() const { return state_->options.context; }
int Engine::threads() const { return state_->options.threads; }
int64_t Engine::max_running() const { return state_->options.max_running; }
int64_t Engine::max_queued() const { return state_->options.max_queued; }
std::string_view Engine::isa_name() const { return state_->options.isa.name; }
EngineMemory Engine::memory() const {
  EngineMemory memory = state_->runner->memory();
  memory.weights = state_->model.info().weight_bytes;
  return memory;
}
int64_t Engine::kv_bytes() const { return memory().kv; }
int64_t Engine::state_bytes() const { return memory().states; }
uint64_t Engine::progress() const {
  const uint64_t restored = state_->disk ? state_->disk->tier().progress() : 0;
  return state_->runner->progress() + restored;
}

}  // namespace skald
