#include "skald/bench.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "base/float_mode.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "engine/batch_builder.h"
#include "engine/bench_work.h"
#include "engine/options.h"
#include "engine/runner.h"
#include "engine/sizes.h"
#include "kv/page_table.h"
#include "model/transformer.h"

namespace skald {
namespace {

// The seed of the tokens. Which they are does not matter to the speed.
constexpr uint64_t kTokenSeed = 1;

// Pages and states of `limits`, and steps of a chunk or of a row of each sequence. One state slot a
// sequence: where a position is computed again they have gone on since; the numbers mean nothing
// here, and the time does not depend on them.
engine::ResolvedOptions OfCases(engine::ResolvedOptions options, const BenchLimits& limits,
                                bool has_states) {
  options.max_running = limits.batch;
  options.max_rows = std::max(options.max_chunk, limits.batch);
  options.max_logit_rows = limits.batch;
  options.page_count = limits.batch * DivCeil<int64_t>(limits.positions, kernels::kPageTokens);
  options.windows = {};
  options.state_slots = has_states ? limits.batch : 0;
  return options;
}

// Random, sequence by sequence.
std::vector<TokenId> TokensOf(const BenchLimits& limits, int64_t vocab) {
  std::vector<TokenId> tokens;
  tokens.reserve(static_cast<size_t>(limits.batch * limits.positions));
  for (int64_t s = 0; s < limits.batch; ++s) {
    for (int64_t position = 0; position < limits.positions; ++position) {
      const double u = UniformDouble({.seed = kTokenSeed,
                                      .sequence = static_cast<uint32_t>(s),
                                      .position = static_cast<uint64_t>(position)},
                                     0);
      tokens.push_back(static_cast<TokenId>(u * static_cast<double>(vocab)));
    }
  }
  return tokens;
}

}  // namespace

// What stands behind a session. Sequence s has its tokens in row s of `tokens`; computed[s] counts
// the positions whose K and V are in its pages.
struct BenchSession::State {
  Model model;
  engine::ResolvedOptions options;
  BenchLimits limits;
  std::unique_ptr<engine::Runner> runner;
  std::unique_ptr<kv::PagePool> pages;  // the tables point to it
  std::vector<kv::PageTable> tables;
  std::vector<TokenId> tokens;
  std::vector<int64_t> computed;
  engine::BatchBuilder batch = {};

  const model::Transformer& transformer() const { return model.transformer(); }
  Status Check(const BenchCase& wanted) const;
  // Adds rows of a sequence to the batch: returns the first.
  int64_t AddRows(int64_t sequence, int64_t position, int64_t count);
  // Computes positions begin .. end of a sequence, in chunks.
  Status Prefill(int64_t sequence, int64_t begin, int64_t end, const GoOn& go_on);
  void Decode(int64_t sequences, int64_t position);
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

int64_t BenchSession::State::AddRows(int64_t sequence, int64_t position, int64_t count) {
  const auto index = static_cast<size_t>(sequence);
  computed[index] = std::max(computed[index], position + count);
  const auto first = static_cast<size_t>(sequence * limits.positions + position);
  return batch.Add({.first_position = position,
                    .pages = tables[index].pages(),
                    .state = static_cast<kv::StateId>(sequence)},
                   std::span(tokens).subspan(first, static_cast<size_t>(count)));
}

Status BenchSession::State::Prefill(int64_t sequence, int64_t begin, int64_t end,
                                    const GoOn& go_on) {
  for (int64_t position = begin; position < end;) {
    if (!go_on()) return Status(ErrorCode::kCancelled, "interrupted");
    const int64_t count = std::min(options.max_chunk, end - position);
    batch.Clear();
    AddRows(sequence, position, count);
    if (position + count == end) batch.WantLogits(count - 1, 1);
    runner->Forward(batch.batch());
    RETURN_IF_ERROR(runner->Lost());
    position += count;
  }
  return Ok();
}

void BenchSession::State::Decode(int64_t sequences, int64_t position) {
  batch.Clear();
  for (int64_t s = 0; s < sequences; ++s) batch.WantLogits(AddRows(s, position, 1), 1);
  runner->Forward(batch.batch());
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
    Decode(wanted.batch, prompt_end + step);
    RETURN_IF_ERROR(runner->Lost());
  }
  return Ok();
}

model::StepWork BenchSession::State::WorkByPhase(const BenchCase& wanted) const {
  const model::Network& network = transformer().network();
  return engine::WorkOf(
      network, {.layout = engine::SizesOf(network, options).layout, .max_chunk = options.max_chunk},
      wanted);
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
  sized.speculation = {};
  ASSIGN_OR_RETURN(engine::ResolvedOptions resolved, engine::Resolve(sized, shape));
  resolved = OfCases(resolved, limits, model::StateFloatsOf(shape) > 0);
  ASSIGN_OR_RETURN(auto runner, engine::MakeRunner(model, resolved));
  auto pages = std::make_unique<kv::PagePool>(resolved.page_count);
  const auto batch = static_cast<size_t>(limits.batch);
  std::vector<kv::PageTable> tables;
  for (size_t s = 0; s < batch; ++s) tables.emplace_back(pages.get(), limits.positions);
  auto state = std::make_unique<State>(State{.model = model,
                                             .options = resolved,
                                             .limits = limits,
                                             .runner = std::move(runner),
                                             .pages = std::move(pages),
                                             .tables = std::move(tables),
                                             .tokens = TokensOf(limits, shape.vocab),
                                             .computed = std::vector<int64_t>(batch, 0)});
  state->batch.Reserve(resolved.max_rows, limits.batch);
  return BenchSession(std::move(state));
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
    state_->runner->SetProfile(&profile);
    const Status status = state_->Run(wanted, go_on);
    state_->runner->SetProfile(nullptr);
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
