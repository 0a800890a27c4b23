#include "skald/logits.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/float_mode.h"
#include "base/status_macros.h"
#include "engine/batch_builder.h"
#include "engine/options.h"
#include "engine/request_check.h"
#include "engine/runner.h"
#include "kv/page_table.h"
#include "model/transformer.h"

namespace skald {
namespace {

Status CheckRow(std::span<const float> logits, int64_t position) {
  for (size_t token = 0; token < logits.size(); ++token) {
    if (!std::isnan(logits[token])) continue;
    return Status(ErrorCode::kNumeric, "the logit of token " + std::to_string(token) +
                                           " at position " + std::to_string(position) +
                                           " is not a number: the weights are broken");
  }
  return Ok();
}

// Of a step: a chunk of one text, whose rows all have logits. Nothing is shared and nothing kept.
engine::ResolvedOptions OfOneText(engine::ResolvedOptions options, bool has_states) {
  options.max_running = 1;
  options.max_rows = options.max_chunk;
  options.max_logit_rows = options.max_chunk;
  options.windows = {};
  options.state_slots = has_states ? 1 : 0;
  return options;
}

}  // namespace

struct LogitsSession::State {
  Model model;
  engine::ResolvedOptions options;
  engine::RequestLimits limits;
  std::unique_ptr<engine::Runner> runner;
  kv::PagePool pages;
  engine::BatchBuilder batch = {};

  Result<int64_t> ChunkAt(int64_t wanted, int64_t left) const;
  void Forward(std::span<const TokenId> tokens, int64_t position, const kv::PageTable& table);
};

Result<int64_t> LogitsSession::State::ChunkAt(int64_t wanted, int64_t left) const {
  const int64_t count = std::min(wanted, left);
  if (wanted >= 1 && count <= options.max_chunk) return count;
  return Status(ErrorCode::kInvalidArgument, "a chunk has " + std::to_string(wanted) +
                                                 " tokens, expected 1 to " +
                                                 std::to_string(options.max_chunk));
}

void LogitsSession::State::Forward(std::span<const TokenId> tokens, int64_t position,
                                   const kv::PageTable& table) {
  const FloatMode mode;  // not around on_row, which is the caller's code
  batch.Clear();
  batch.Add({.first_position = position,
             .pages = table.pages(),
             .state = options.state_slots > 0 ? kv::StateId{0} : kv::kNoState},
            tokens);
  batch.WantLogits(0, batch.row_count());
  runner->Forward(batch.batch());
}

LogitsSession::LogitsSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
LogitsSession::~LogitsSession() = default;
LogitsSession::LogitsSession(LogitsSession&&) noexcept = default;
LogitsSession& LogitsSession::operator=(LogitsSession&&) noexcept = default;

Result<LogitsSession> LogitsSession::Create(const Model& model, const EngineOptions& options) {
  const FloatMode mode;  // tables are computed here
  const model::Network& network = model.transformer().network();
  EngineOptions plain = options;
  plain.speculation = {};
  plain.kv_positions = 0;
  ASSIGN_OR_RETURN(engine::ResolvedOptions resolved, engine::Resolve(plain, network));
  resolved = OfOneText(resolved, model::StateFloatsOf(network) > 0);
  const engine::RequestLimits limits = {.context = resolved.context,
                                        .vocab = network.vocab,
                                        .generates = model.info().generates,
                                        .rank_pooling = model.info().rank_pooling};
  RETURN_IF_ERROR(engine::CheckGenerates(limits));
  ASSIGN_OR_RETURN(auto runner, engine::MakeRunner(model, resolved));
  return LogitsSession(std::make_unique<State>(State{.model = model,
                                                     .options = resolved,
                                                     .limits = limits,
                                                     .runner = std::move(runner),
                                                     .pages = kv::PagePool(resolved.page_count)}));
}

Status LogitsSession::Compute(std::span<const TokenId> tokens, std::span<const int64_t> chunks,
                              const OnRow& on_row) {
  State& state = *state_;
  RETURN_IF_ERROR(engine::CheckPrompt(tokens, state.limits));
  kv::PageTable table(&state.pages, state.options.context);
  const auto total = static_cast<int64_t>(tokens.size());
  CHECK(table.Reserve(total));
  size_t next_chunk = 0;
  for (int64_t position = 0; position < total;) {
    const int64_t wanted = chunks.empty() ? state.options.max_chunk : chunks[next_chunk];
    if (next_chunk + 1 < chunks.size()) ++next_chunk;
    ASSIGN_OR_RETURN(const int64_t count, state.ChunkAt(wanted, total - position));
    state.Forward(tokens.subspan(static_cast<size_t>(position), static_cast<size_t>(count)),
                  position, table);
    RETURN_IF_ERROR(state.runner->Lost());
    for (int64_t row = 0; row < count; ++row) {
      const std::span<const float> logits = state.runner->Logits(row);
      RETURN_IF_ERROR(CheckRow(logits, position + row));
      RETURN_IF_ERROR(on_row(logits));
    }
    position += count;
  }
  return Ok();
}

}  // namespace skald
