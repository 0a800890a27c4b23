#include "skald/engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "engine/options.h"
#include "kernels/kernels.h"
#include "kv/kv_store.h"
#include "kv/page_table.h"
#include "model/transformer.h"
#include "sampling/sampler.h"

namespace skald {

// Everything a request can need, taken at Create.
struct Engine::State {
  Model model;
  engine::ResolvedOptions options;
  kernels::KernelTable kernels;
  std::unique_ptr<ThreadPool> pool;
  model::RopeTable rope;
  kv::KvStore store;
  model::Workspace workspace;
  kv::PagePool pages;
  sampling::Sampler sampler;
  std::vector<int32_t> logit_rows;  // 0 .. max_logit_rows - 1

  const model::ModelConfig& config() const { return model.transformer().config(); }
  Status CheckPrompt(std::span<const TokenId> tokens) const;
  void Step(std::span<const TokenId> tokens, const model::SequenceRows& rows,
            std::span<const int32_t> logits_of);
  std::span<const float> LogitRow(int64_t row) const;
};

Status Engine::State::CheckPrompt(std::span<const TokenId> tokens) const {
  if (tokens.empty()) return Status(ErrorCode::kInvalidArgument, "the prompt is empty");
  if (static_cast<int64_t>(tokens.size()) > options.context) {
    return Status(ErrorCode::kResourceExhausted, "the prompt has " + std::to_string(tokens.size()) +
                                                     " tokens, the context has room for " +
                                                     std::to_string(options.context));
  }
  for (const TokenId token : tokens) {
    if (token >= 0 && token < config().vocab) continue;
    return Status(ErrorCode::kInvalidArgument, "token " + std::to_string(token) +
                                                   " is not in the vocabulary of " +
                                                   std::to_string(config().vocab));
  }
  return Ok();
}

// Computes consecutive rows of one sequence.
void Engine::State::Step(std::span<const TokenId> tokens, const model::SequenceRows& rows,
                         std::span<const int32_t> logits_of) {
  const model::Execution execution{kernels, *pool};
  model.transformer().Forward(
      {.tokens = tokens, .sequences = {&rows, 1}, .logit_rows = logits_of},
      {.store = store, .workspace = workspace, .rope = rope, .execution = execution});
}

std::span<const float> Engine::State::LogitRow(int64_t row) const {
  return {workspace.logits.row(row), static_cast<size_t>(config().vocab)};
}

namespace {

// One request on its way: its pages, and how far it has come.
class Generation {
 public:
  Generation(Engine::State* state, const Request& request)
      : state_(*state), request_(request), table_(&state->pages, state->options.context) {}

  // Computes the prompt; afterwards logit row 0 predicts the first token. False if cancelled.
  bool Prefill(const Engine::OnToken& on_token) {
    const std::span<const TokenId> prompt(request_.prompt);
    CHECK(table_.Reserve(static_cast<int64_t>(prompt.size())));
    while (position_ < static_cast<int64_t>(prompt.size())) {
      if (position_ > 0 && !on_token({})) return false;
      const int64_t left = static_cast<int64_t>(prompt.size()) - position_;
      const int64_t count = std::min(left, state_.options.max_chunk);
      ComputeRows(prompt.subspan(static_cast<size_t>(position_), static_cast<size_t>(count)),
                  count == left);
    }
    return true;
  }

  // Chooses the token after the last computed position.
  Result<TokenEvent> Sample() {
    ASSIGN_OR_RETURN(const sampling::Sampled sampled,
                     state_.sampler.Sample({.logits = state_.LogitRow(0),
                                            .prompt = request_.prompt,
                                            .output = output_,
                                            .key = {.seed = request_.sampling.seed,
                                                    .sequence = 0,
                                                    .position = static_cast<uint64_t>(position_)}},
                                           request_.sampling));
    output_.push_back(sampled.token);
    return TokenEvent{.token = sampled.token,
                      .logprob = sampled.logprob,
                      .index = static_cast<int64_t>(output_.size()) - 1};
  }

  // Why the text ends with the token sampled last, if it does.
  std::optional<FinishReason> Finished() const {
    const StopRules& stop = request_.stop;
    const TokenId token = output_.back();
    if (std::find(stop.stop_tokens.begin(), stop.stop_tokens.end(), token) !=
        stop.stop_tokens.end()) {
      return FinishReason::kStop;
    }
    if (!stop.ignore_eos && state_.model.tokenizer().IsEndOfGeneration(token)) {
      return FinishReason::kStop;
    }
    if (OutputIsFull()) return FinishReason::kLength;
    if (position_ >= state_.options.context) return FinishReason::kContext;
    return std::nullopt;
  }

  bool OutputIsFull() const {
    return request_.stop.max_tokens >= 0 &&
           static_cast<int64_t>(output_.size()) >= request_.stop.max_tokens;
  }

  // Computes the token sampled last, so that the next can be sampled.
  void Decode() {
    CHECK(table_.Reserve(position_ + 1));
    ComputeRows({&output_.back(), 1}, true);
  }

  std::vector<TokenId> TakeOutput() { return std::move(output_); }

 private:
  // Appends rows to the sequence. Only the last row of the prompt or of a decode needs logits.
  void ComputeRows(std::span<const TokenId> tokens, bool want_logits) {
    const auto count = static_cast<int64_t>(tokens.size());
    const auto last = static_cast<int32_t>(count - 1);
    const std::span<const int32_t> logits_of(&last, want_logits ? 1 : 0);
    state_.Step(tokens, {.row_count = count, .first_position = position_, .pages = table_.pages()},
                logits_of);
    position_ += count;
  }

  Engine::State& state_;
  const Request& request_;
  kv::PageTable table_;
  int64_t position_ = 0;  // positions computed so far
  std::vector<TokenId> output_;
};

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

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kContext: return "context";
    case FinishReason::kCancelled: return "cancelled";
  }
  return "unknown";
}

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result<Engine> Engine::Create(const Model& model, const EngineOptions& options) {
  const model::Transformer& network = model.transformer();
  const model::ModelConfig& config = network.config();
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved, engine::Resolve(options, config));
  const int64_t pages = DivCeil<int64_t>(resolved.context, kernels::kPageTokens);
  ASSIGN_OR_RETURN(kv::KvStore store,
                   kv::KvStore::Create(network.KvLayoutFor(resolved.kv_type), pages));
  ASSIGN_OR_RETURN(model::Workspace workspace,
                   model::Workspace::Create(config, {.rows = resolved.max_chunk,
                                                     .logit_rows = resolved.max_logit_rows,
                                                     .threads = resolved.threads}));
  ASSIGN_OR_RETURN(sampling::Sampler sampler, sampling::Sampler::Create(config.vocab));
  std::vector<int32_t> logit_rows(static_cast<size_t>(resolved.max_logit_rows));
  std::iota(logit_rows.begin(), logit_rows.end(), 0);
  return Engine(
      std::make_unique<State>(State{.model = model,
                                    .options = resolved,
                                    .kernels = kernels::TableFor(resolved.isa),
                                    .pool = std::make_unique<ThreadPool>(resolved.threads),
                                    .rope = model::RopeTable(config.rope, resolved.context),
                                    .store = std::move(store),
                                    .workspace = std::move(workspace),
                                    .pages = kv::PagePool(pages),
                                    .sampler = std::move(sampler),
                                    .logit_rows = std::move(logit_rows)}));
}

Result<Completion> Engine::Generate(const Request& request, const OnToken& on_token) {
  RETURN_IF_ERROR(state_->CheckPrompt(request.prompt));
  RETURN_IF_ERROR(Validate(request.sampling, state_->config().vocab));
  const Stopwatch watch;
  Generation generation(state_.get(), request);
  Completion done;
  done.prompt_tokens = static_cast<int64_t>(request.prompt.size());
  std::optional<FinishReason> reason;
  if (!generation.Prefill(on_token)) reason = FinishReason::kCancelled;
  if (!reason && generation.OutputIsFull()) reason = FinishReason::kLength;
  done.prefill_seconds = watch.Seconds();
  while (!reason) {
    ASSIGN_OR_RETURN(const TokenEvent event, generation.Sample());
    if (event.index == 0) done.prefill_seconds = watch.Seconds();
    reason = generation.Finished();
    if (!on_token(event) && !reason) reason = FinishReason::kCancelled;
    if (!reason) generation.Decode();
  }
  done.reason = *reason;
  done.decode_seconds = watch.Seconds() - done.prefill_seconds;
  done.tokens = generation.TakeOutput();
  return done;
}

Status Engine::ComputeLogits(std::span<const TokenId> tokens, std::span<const int64_t> chunks,
                             const std::function<Status(std::span<const float> row)>& on_row) {
  RETURN_IF_ERROR(state_->CheckPrompt(tokens));
  const auto total = static_cast<int64_t>(tokens.size());
  kv::PageTable table(&state_->pages, state_->options.context);
  CHECK(table.Reserve(total));
  size_t next_chunk = 0;
  for (int64_t position = 0; position < total;) {
    const int64_t wanted = chunks.empty() ? total : chunks[next_chunk];
    if (next_chunk + 1 < chunks.size()) ++next_chunk;
    const int64_t most = std::min(state_->options.max_chunk, state_->options.max_logit_rows);
    if (wanted < 1 || std::min(wanted, total - position) > most) {
      return Status(ErrorCode::kInvalidArgument, "a chunk has " + std::to_string(wanted) +
                                                     " tokens, expected 1 to " +
                                                     std::to_string(most));
    }
    const int64_t count = std::min(wanted, total - position);
    state_->Step(tokens.subspan(static_cast<size_t>(position), static_cast<size_t>(count)),
                 {.row_count = count, .first_position = position, .pages = table.pages()},
                 std::span(state_->logit_rows).first(static_cast<size_t>(count)));
    for (int64_t row = 0; row < count; ++row) {
      const std::span<const float> logits = state_->LogitRow(row);
      RETURN_IF_ERROR(CheckLogits(logits, position + row));
      RETURN_IF_ERROR(on_row(logits));
    }
    position += count;
  }
  return Ok();
}

int64_t Engine::context() const { return state_->options.context; }
int Engine::threads() const { return state_->options.threads; }
std::string_view Engine::isa_name() const { return kernels::IsaName(state_->options.isa); }
int64_t Engine::kv_bytes() const { return state_->store.bytes(); }

}  // namespace skald
