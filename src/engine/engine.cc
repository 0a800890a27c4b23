#include "skald/engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "engine/completion_sink.h"
#include "engine/core.h"
#include "engine/engine_loop.h"
#include "engine/model_network.h"
#include "engine/options.h"
#include "engine/request_check.h"
#include "engine/sizes.h"
#include "engine/speculation.h"
#include "skald/transcript.h"

namespace skald {
using engine::ModelNetwork;

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
    std::unique_ptr<ModelNetwork> network;
    std::unique_ptr<engine::Proposer> proposer;
    sampling::Sampler sampler;
    std::shared_ptr<TraceRing> trace;
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
        network(std::move(parts.network)),
        proposer(std::move(parts.proposer)),
        trace(std::move(parts.trace)),
        cache(resolved.page_count, resolved.state_slots, SharingOf(resolved), resolved.windows),
        chooser(std::move(parts.sampler), engine::EndTokens(model), resolved.context,
                resolved.rule),
        tracer(trace ? std::optional<engine::Tracer>(std::in_place, trace.get(), clock)
                     : std::nullopt),
        core({.context = resolved.context,
              .max_rows = resolved.max_rows,
              .max_chunk = resolved.max_chunk,
              .max_running = resolved.max_running,
              .target_seconds = resolved.target_seconds,
              .least_draft = resolved.least_draft,
              .most_draft = resolved.most_draft,
              .max_draft_rows = resolved.max_draft_rows,
              .prompts = PromptRuleOf(resolved)},
             {.network = *network,
              .clock = clock,
              .cache = cache,
              .scheduler = scheduler,
              .chooser = chooser,
              .proposer = proposer.get(),
              .tracer = tracer ? &*tracer : nullptr}),
        loop(&core, &clock, resolved.max_queued) {}

  Status ComputeLogits(std::span<const TokenId> tokens, std::span<const int64_t> chunks,
                       const std::function<Status(std::span<const float> row)>& on_row);
  Result<int64_t> ChunkAt(int64_t wanted, int64_t left) const;

  Model model;
  engine::ResolvedOptions options;
  engine::RequestLimits limits;
  engine::RealClock clock;
  std::unique_ptr<ModelNetwork> network;
  std::unique_ptr<engine::Proposer> proposer;
  std::shared_ptr<TraceRing> trace;
  engine::CacheManager cache;
  engine::Scheduler scheduler;
  engine::TokenChooser chooser;
  std::optional<engine::Tracer> tracer;
  engine::Core core;
  engine::EngineLoop loop;
};

namespace {

Status CheckLogits(std::span<const float> logits, int64_t position) {
  for (size_t token = 0; token < logits.size(); ++token) {
    if (!std::isnan(logits[token])) continue;
    return Status(ErrorCode::kNumeric, "the logit of token " + std::to_string(token) +
                                           " at position " + std::to_string(position) +
                                           " is not a number: the weights are broken");
  }
  return Ok();
}

}  // namespace

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
  ASSIGN_OR_RETURN(auto network, ModelNetwork::Create(transformer, resolved, threads));
  ASSIGN_OR_RETURN(auto proposer,
                   engine::MakeProposer(model, options.speculation, resolved, threads));
  ASSIGN_OR_RETURN(sampling::Sampler sampler,
                   sampling::Sampler::Create(transformer.network().vocab, resolved.isa));
  return Engine(std::make_unique<State>(
      model, resolved,
      State::Parts{std::move(network), std::move(proposer), std::move(sampler), options.trace}));
}

Result<EnginePlan> Engine::Plan(const Model& model, const EngineOptions& options) {
  const model::Network& network = model.transformer().network();
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved, engine::Resolve(options, network));
  return engine::PlanOf(network, resolved, model.info().weight_bytes);
}

Result<RequestId> Engine::Submit(Request request, std::shared_ptr<EventSink> sink) {
  CHECK(sink != nullptr);
  Status status = engine::CheckRequest(request, state_->limits);
  const int64_t room = 2 * int64_t{request.sequence_count()} + 2;
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

Status Engine::ComputeLogits(std::span<const TokenId> tokens, std::span<const int64_t> chunks,
                             const std::function<Status(std::span<const float> row)>& on_row) {
  RETURN_IF_ERROR(engine::CheckGenerates(state_->limits));
  RETURN_IF_ERROR(engine::CheckPrompt(tokens, state_->limits));
  Status status;
  state_->loop.Run([&] { status = state_->ComputeLogits(tokens, chunks, on_row); });
  return status;
}

Result<int64_t> Engine::State::ChunkAt(int64_t wanted, int64_t left) const {
  const int64_t most = std::min(options.max_chunk, options.max_logit_rows);
  if (wanted >= 1 && std::min(wanted, left) <= most) return std::min(wanted, left);
  return Status(ErrorCode::kInvalidArgument, "a chunk has " + std::to_string(wanted) +
                                                 " tokens, expected 1 to " + std::to_string(most));
}

Status Engine::State::ComputeLogits(
    std::span<const TokenId> tokens, std::span<const int64_t> chunks,
    const std::function<Status(std::span<const float> row)>& on_row) {
  const auto total = static_cast<int64_t>(tokens.size());
  kv::PageTable table(&cache.pool(), options.context);
  cache.Evict(table.PagesToWrite(0, total) - cache.pool().free_count());
  if (table.PagesToWrite(0, total) > cache.pool().free_count()) {
    return Status(ErrorCode::kResourceExhausted,
                  "running requests hold the pages: " + std::to_string(cache.pool().free_count()) +
                      " of " + std::to_string(options.page_count) + " are free");
  }
  const kv::StateSlot state = cache.FreeState();
  CHECK(state.holds() || !cache.has_states());
  std::vector<int32_t> logit_rows(static_cast<size_t>(options.max_logit_rows));
  std::iota(logit_rows.begin(), logit_rows.end(), 0);
  std::vector<kv::PageCopy> copies;  // none: all pages are its own
  size_t next_chunk = 0;
  for (int64_t position = 0; position < total;) {
    const int64_t wanted = chunks.empty() ? total : chunks[next_chunk];
    if (next_chunk + 1 < chunks.size()) ++next_chunk;
    ASSIGN_OR_RETURN(const int64_t count, ChunkAt(wanted, total - position));
    CHECK(table.PrepareWrite(position, position + count, &copies));
    const model::SequenceRows rows = {.row_count = count,
                                      .first_position = position,
                                      .pages = table.lists(),
                                      .state = state.id()};
    network->Forward(
        {.tokens = tokens.subspan(static_cast<size_t>(position), static_cast<size_t>(count)),
         .sequences = {&rows, 1},
         .logit_rows = std::span(logit_rows).first(static_cast<size_t>(count))});
    for (int64_t row = 0; row < count; ++row) {
      const std::span<const float> logits = network->Logits(row);
      RETURN_IF_ERROR(CheckLogits(logits, position + row));
      RETURN_IF_ERROR(on_row(logits));
    }
    position += count;
    table.ForgetBehind(position);
  }
  return Ok();
}

int64_t Engine::embedding_width() const {
  return model::HiddenWidth(state_->model.transformer().network());
}
int64_t Engine::context() const { return state_->options.context; }
int Engine::threads() const { return state_->options.threads; }
int64_t Engine::max_running() const { return state_->options.max_running; }
int64_t Engine::max_queued() const { return state_->options.max_queued; }
std::string_view Engine::isa_name() const { return state_->options.isa.name; }
EngineMemory Engine::memory() const {
  EngineMemory memory = state_->network->memory();
  memory.weights = state_->model.info().weight_bytes;
  return memory;
}
int64_t Engine::kv_bytes() const { return memory().kv; }
int64_t Engine::state_bytes() const { return memory().states; }
uint64_t Engine::progress() const { return state_->network->progress(); }

}  // namespace skald
