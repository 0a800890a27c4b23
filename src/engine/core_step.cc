#include <algorithm>

#include "base/check.h"
#include "engine/core.h"

namespace skald::engine {

// Makes the pages of every row writable; whoever loses its pages on the way leaves the step.
void Core::ReservePages() {
  int64_t wanted = 0;
  for (const StepRows& rows : step_) wanted += cache_.PagesToWrite(*rows.sequence, rows.count);
  if (wanted > cache_.available_pages()) {
    for (Sequence* sequence : running_) cache_.Deduplicate(sequence);
  }
  for (const StepRows& rows : step_) {
    if (rows.sequence->running()) Reserve(rows);
  }
  std::erase_if(step_, [](const StepRows& rows) { return !rows.sequence->running(); });
}

void Core::Reserve(const StepRows& rows) {
  while (!cache_.PrepareWrite(rows.sequence, rows.count, &copies_)) {
    victims_.clear();
    for (const Sequence* sequence : running_) victims_.push_back(ViewOf(*sequence));
    Sequence* victim = running_[static_cast<size_t>(scheduler_.Victim(victims_))];
    // Submit refuses what does not fit alone.
    CHECK(running_.size() > 1);
    Preempt(victim);
    if (victim == rows.sequence) return;
  }
  // At once: what is copied could be evicted by the next.
  for (const kv::PageCopy& copy : copies_) network_.CopyPage(copy);
  stats_.pages_copied += static_cast<int64_t>(copies_.size());
  copies_.clear();
}

void Core::BuildBatch() {
  tokens_.clear();
  sequence_rows_.clear();
  logit_rows_.clear();
  for (const StepRows& rows : step_) {
    const Sequence& sequence = *rows.sequence;
    const auto first = sequence.tokens.begin() + sequence.computed;
    tokens_.insert(tokens_.end(), first, first + rows.count);
    sequence_rows_.push_back({.row_count = rows.count,
                              .first_position = sequence.computed,
                              .pages = sequence.table.pages()});
    if (rows.samples) logit_rows_.push_back(static_cast<int32_t>(tokens_.size()) - 1);
  }
}

void Core::Apply() {
  int64_t logit_index = 0;
  for (const StepRows& rows : step_) {
    // An error of one sequence ends its siblings.
    if (rows.sequence->running()) ApplyRows(rows, logit_index);
    logit_index += int64_t{rows.samples};
  }
}

void Core::ApplyRows(const StepRows& rows, int64_t logit_index) {
  Sequence* sequence = rows.sequence;
  RequestState* state = sequence->request;
  cache_.Publish(sequence, rows.count);
  if (!rows.samples) {
    return EmitNote(*sequence, EventKind::kChunk, sequence->computed, sequence->length());
  }
  if (state->request.stop.max_tokens == 0) {
    return FinishRequest(state, FinishReason::kLength, Ok());
  }
  if (sequence->phase() == Phase::kPrefill) sequence->MoveTo(Phase::kDecode);
  const std::span<const float> logits = network_.Logits(logit_index);
  if (state->unforked() == 0) return Sample(sequence, logits);
  Fork(sequence);
  for (const auto& each : state->sequences) {
    if (each->running()) Sample(each.get(), logits);
  }
}

// The prompt is computed: the other sequences of the request join, sharing its pages.
void Core::Fork(Sequence* lead) {
  RequestState* state = lead->request;
  for (int32_t index = 1; index < state->request.sequence_count(); ++index) {
    state->sequences.push_back(cache_.Fork(lead, index, limits_.context));
    Sequence* fork = state->sequences.back().get();
    fork->MoveTo(Phase::kDecode);
    running_.insert(std::find(running_.begin(), running_.end(), lead) + index, fork);
  }
}

void Core::Sample(Sequence* sequence, std::span<const float> logits) {
  RequestState* state = sequence->request;
  Result<ChosenToken> chosen = chooser_.Choose(*sequence, logits);
  if (!chosen.ok()) {
    return FinishRequest(state, FinishReason::kError, std::move(chosen).status());
  }
  const double now = clock_.Seconds();
  const auto index = static_cast<int64_t>(sequence->output().size());
  if (index > 0) {
    stats_.tbt_seconds.Add(now - sequence->last_token_seconds);
  } else if (sequence->index == 0) {
    stats_.ttft_seconds.Add(now - state->submitted_seconds);
  }
  sequence->tokens.push_back(chosen->token);
  sequence->logprob_sum += chosen->logprob.value_or(0);
  sequence->last_token_seconds = now;
  ++stats_.output_tokens;
  token_event_.sequence = sequence->index;
  token_event_.token.token = chosen->token;
  token_event_.token.logprob = chosen->logprob;
  token_event_.token.index = index;
  token_event_.token.top.assign(chosen->top.begin(), chosen->top.end());
  const Listening answer = Emit(state, &token_event_);
  std::optional<FinishReason> end = chooser_.EndOf(*sequence);
  if (answer == Listening::kEndSequence) end = FinishReason::kStop;
  if (end) return FinishSequence(sequence, *end);
  if (state->gone) FinishRequest(state, FinishReason::kCancelled, Ok());
}

void Core::Measure(double start_seconds) {
  const double seconds = clock_.Seconds() - start_seconds;
  int64_t decode_rows = 0;
  for (const StepRows& rows : step_) decode_rows += int64_t{rows.samples && rows.count == 1};
  const auto rows = static_cast<int64_t>(tokens_.size());
  token_budget_.Observe(decode_rows, rows - decode_rows, seconds);
  stats_.step_seconds.Add(seconds);
  ++stats_.steps;
  stats_.rows += rows;
  stats_.prefill_rows += rows - decode_rows;
}

}  // namespace skald::engine
