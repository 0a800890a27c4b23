#include "skald/bench.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/float_mode.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "base/thread_pool.h"
#include "engine/bench_work.h"
#include "engine/options.h"
#include "kernels/kernels.h"
#include "kv/kv_store.h"
#include "kv/page_table.h"
#include "model/transformer.h"

namespace skald {
namespace {

// The seed of the tokens. Which they are does not matter to the speed.
constexpr uint64_t kTokenSeed = 1;

}  // namespace

// What stands behind a session. Sequence s has its tokens in row s of `tokens`; computed[s] counts
// the positions whose K and V are in its pages.
struct BenchSession::State {
  Model model;
  engine::ResolvedOptions options;
  BenchLimits limits;
  kernels::KernelTable kernels;
  std::unique_ptr<ThreadPool> pool;
  std::vector<model::RopeTable> ropes;
  kv::KvStore store;
  // One slot a sequence. Where a position is computed again they have gone on since: the numbers
  // mean nothing here, and the time does not depend on them.
  kv::StateStore states;
  model::Workspace workspace;
  std::unique_ptr<kv::PagePool> pages;  // the tables point to it
  std::vector<kv::PageTable> tables;
  std::vector<TokenId> tokens;
  std::vector<int64_t> computed;
  // Scratch of a decode step, by sequence.
  std::vector<model::SequenceRows> sequences;
  std::vector<TokenId> step_tokens;
  std::vector<int32_t> logit_rows;
  model::StepProfile* profile = nullptr;

  const model::Transformer& transformer() const { return model.transformer(); }
  Status Check(const BenchCase& wanted) const;
  void Forward(const model::StepBatch& batch);
  // Computes positions begin .. end of a sequence, in chunks.
  Status Prefill(int64_t sequence, int64_t begin, int64_t end, const GoOn& go_on);
  Status Decode(int64_t batch, int64_t position);
  Status FillDepth(const BenchCase& wanted, const GoOn& go_on);
  Status Run(const BenchCase& wanted, const GoOn& go_on);
  model::StepWork WorkByPhase(const BenchCase& wanted) const;
};

Status BenchSession::State::Check(const BenchCase& wanted) const {
  const bool nothing = wanted.prompt_tokens == 0 && wanted.decode_tokens == 0;
  if (wanted.prompt_tokens < 0 || wanted.decode_tokens < 0 || wanted.depth < 0 || nothing) {
    return Status(ErrorCode::kInvalidArgument, "a benchmark case without tokens to compute");
  }
  if (wanted.batch < 1 || wanted.batch > limits.batch) {
    return Status(ErrorCode::kInvalidArgument, "batch is " + std::to_string(wanted.batch) +
                                                   ", expected 1 to " +
                                                   std::to_string(limits.batch));
  }
  const int64_t positions = wanted.depth + wanted.prompt_tokens + wanted.decode_tokens;
  if (positions <= limits.positions) return Ok();
  return Status(ErrorCode::kResourceExhausted, "a sequence needs " + std::to_string(positions) +
                                                   " positions, the session has " +
                                                   std::to_string(limits.positions));
}

void BenchSession::State::Forward(const model::StepBatch& batch) {
  const model::Execution execution{kernels, *pool, profile};
  transformer().Forward(batch, {.store = store,
                                .workspace = workspace,
                                .ropes = ropes,
                                .execution = execution,
                                .states = &states});
}

Status BenchSession::State::Prefill(int64_t sequence, int64_t begin, int64_t end,
                                    const GoOn& go_on) {
  const TokenId* row = tokens.data() + sequence * limits.positions;
  for (int64_t position = begin; position < end;) {
    if (!go_on()) return Status(ErrorCode::kCancelled, "interrupted");
    const int64_t count = std::min(options.max_chunk, end - position);
    const model::SequenceRows rows = {.row_count = count,
                                      .first_position = position,
                                      .pages = tables[static_cast<size_t>(sequence)].pages(),
                                      .state = static_cast<kv::StateId>(sequence)};
    const auto last = static_cast<int32_t>(count - 1);
    const size_t logit_count = position + count == end ? 1 : 0;
    Forward({.tokens = {row + position, static_cast<size_t>(count)},
             .sequences = {&rows, 1},
             .logit_rows = {&last, logit_count}});
    position += count;
  }
  computed[static_cast<size_t>(sequence)] = std::max(computed[static_cast<size_t>(sequence)], end);
  return Ok();
}

Status BenchSession::State::Decode(int64_t batch, int64_t position) {
  const auto count = static_cast<size_t>(batch);
  for (size_t s = 0; s < count; ++s) {
    sequences[s] = {.row_count = 1,
                    .first_position = position,
                    .pages = tables[s].pages(),
                    .state = static_cast<kv::StateId>(s)};
    step_tokens[s] =
        tokens[s * static_cast<size_t>(limits.positions) + static_cast<size_t>(position)];
    computed[s] = std::max(computed[s], position + 1);
  }
  Forward({.tokens = std::span(step_tokens).first(count),
           .sequences = std::span(sequences).first(count),
           .logit_rows = std::span(logit_rows).first(count)});
  return Ok();
}

Status BenchSession::State::FillDepth(const BenchCase& wanted, const GoOn& go_on) {
  for (int64_t s = 0; s < wanted.batch; ++s) {
    const auto index = static_cast<size_t>(s);
    CHECK(tables[index].Reserve(wanted.depth + wanted.prompt_tokens + wanted.decode_tokens));
    if (computed[index] >= wanted.depth) continue;
    RETURN_IF_ERROR(Prefill(s, computed[index], wanted.depth, go_on));
  }
  return Ok();
}

Status BenchSession::State::Run(const BenchCase& wanted, const GoOn& go_on) {
  const int64_t prompt_end = wanted.depth + wanted.prompt_tokens;
  for (int64_t s = 0; s < wanted.batch && wanted.prompt_tokens > 0; ++s) {
    RETURN_IF_ERROR(Prefill(s, wanted.depth, prompt_end, go_on));
  }
  for (int64_t step = 0; step < wanted.decode_tokens; ++step) {
    if (!go_on()) return Status(ErrorCode::kCancelled, "interrupted");
    RETURN_IF_ERROR(Decode(wanted.batch, prompt_end + step));
  }
  return Ok();
}

model::StepWork BenchSession::State::WorkByPhase(const BenchCase& wanted) const {
  return engine::WorkOf(transformer().network(),
                        {.layout = store.layout(), .max_chunk = options.max_chunk}, wanted);
}

BenchSession::BenchSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
BenchSession::~BenchSession() = default;
BenchSession::BenchSession(BenchSession&&) noexcept = default;
BenchSession& BenchSession::operator=(BenchSession&&) noexcept = default;

Result<BenchSession> BenchSession::Create(const Model& model, const EngineOptions& options,
                                          const BenchLimits& limits) {
  const FloatMode mode;  // tables are computed here
  const model::Network& shape = model.transformer().network();
  if (limits.batch < 1 || limits.batch > engine::kMaxChunk || limits.positions < 1) {
    return Status(ErrorCode::kInvalidArgument, "a benchmark of " + std::to_string(limits.batch) +
                                                   " sequences of " +
                                                   std::to_string(limits.positions) + " positions");
  }
  EngineOptions sized = options;
  sized.context = limits.positions;
  ASSIGN_OR_RETURN(const engine::ResolvedOptions resolved, engine::Resolve(sized, shape));
  const int64_t page_count =
      limits.batch * DivCeil<int64_t>(limits.positions, kernels::kPageTokens);
  ASSIGN_OR_RETURN(kv::KvStore store,
                   kv::KvStore::Create(model::KvLayoutOf(shape, resolved.kv_types), page_count));
  ASSIGN_OR_RETURN(
      kv::StateStore states,
      kv::StateStore::Create({.floats = model::StateFloatsOf(shape), .slots = limits.batch}));
  ASSIGN_OR_RETURN(
      model::Workspace workspace,
      model::Workspace::Create(shape, {.rows = std::max(resolved.max_chunk, limits.batch),
                                       .logit_rows = limits.batch,
                                       .threads = resolved.threads}));
  auto pages = std::make_unique<kv::PagePool>(page_count);
  std::vector<kv::PageTable> tables;
  std::vector<TokenId> tokens;
  const auto batch = static_cast<size_t>(limits.batch);
  tokens.reserve(batch * static_cast<size_t>(limits.positions));
  for (size_t s = 0; s < batch; ++s) {
    tables.emplace_back(pages.get(), limits.positions);
    for (int64_t position = 0; position < limits.positions; ++position) {
      const double u = UniformDouble({.seed = kTokenSeed,
                                      .sequence = static_cast<uint32_t>(s),
                                      .position = static_cast<uint64_t>(position)},
                                     0);
      tokens.push_back(static_cast<TokenId>(u * static_cast<double>(shape.vocab)));
    }
  }
  std::vector<int32_t> logit_rows(batch);
  std::iota(logit_rows.begin(), logit_rows.end(), 0);
  return BenchSession(
      std::make_unique<State>(State{.model = model,
                                    .options = resolved,
                                    .limits = limits,
                                    .kernels = kernels::TableFor(resolved.isa),
                                    .pool = std::make_unique<ThreadPool>(resolved.threads),
                                    .ropes = model::RopeTablesOf(shape, resolved.context),
                                    .store = std::move(store),
                                    .states = std::move(states),
                                    .workspace = std::move(workspace),
                                    .pages = std::move(pages),
                                    .tables = std::move(tables),
                                    .tokens = std::move(tokens),
                                    .computed = std::vector<int64_t>(batch, 0),
                                    .sequences = std::vector<model::SequenceRows>(batch),
                                    .step_tokens = std::vector<TokenId>(batch),
                                    .logit_rows = std::move(logit_rows)}));
}

Result<double> BenchSession::Measure(const BenchCase& wanted, const GoOn& go_on) {
  const FloatMode mode;
  RETURN_IF_ERROR(state_->Check(wanted));
  RETURN_IF_ERROR(state_->FillDepth(wanted, go_on));
  const Stopwatch watch;
  RETURN_IF_ERROR(state_->Run(wanted, go_on));
  return watch.Seconds();
}

BenchWork BenchSession::WorkOf(const BenchCase& wanted) const {
  return engine::PublicWork(model::Essential(state_->WorkByPhase(wanted)));
}

Result<std::vector<ProfileRow>> BenchSession::Profile(const BenchCase& wanted, int repetitions,
                                                      const GoOn& go_on) {
  CHECK(repetitions > 0);
  RETURN_IF_ERROR(Measure(wanted, go_on).status());
  std::vector<model::StepProfile> profiles(static_cast<size_t>(repetitions));
  for (model::StepProfile& profile : profiles) {
    state_->profile = &profile;
    const Status status = state_->Run(wanted, go_on);
    state_->profile = nullptr;
    RETURN_IF_ERROR(status);
  }
  const model::StepWork work = state_->WorkByPhase(wanted);
  std::vector<ProfileRow> rows;
  for (size_t i = 0; i < model::kPhaseCount; ++i) {
    const auto phase = static_cast<model::Phase>(i);
    if (work[phase].IsNone()) continue;  // an operation that the network does not have
    std::vector<double> seconds;
    for (const model::StepProfile& profile : profiles) seconds.push_back(profile[phase]);
    const auto middle = seconds.begin() + static_cast<int64_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    rows.push_back({.operation = model::kPhaseNames[i],
                    .seconds = *middle,
                    .work = engine::PublicWork(work[phase])});
  }
  return rows;
}

int BenchSession::threads() const { return state_->options.threads; }
std::string_view BenchSession::isa_name() const { return state_->options.isa.name; }

}  // namespace skald
