#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/check.h"
#include "base/status_macros.h"
#include "engine/core.h"

namespace skald::engine {

// Makes the pages of every row writable; whoever loses its pages on the way leaves the step.
void Core::ReservePages() {
  int64_t wanted = 0;
  for (const StepRows& rows : step_) wanted += cache_.PagesToWrite(*rows.sequence, rows.count);
  if (wanted > cache_.available_pages()) {
    for (Sequence* sequence : running_) cache_.Deduplicate(sequence);
  }
  for (StepRows& rows : step_) {
    if (rows.sequence->running()) Reserve(rows);
  }
  std::erase_if(step_, [](const StepRows& rows) { return !rows.sequence->running(); });
  for (StepRows& rows : step_) ReserveDrafts(&rows);
}

void Core::Reserve(const StepRows& rows) {
  Sequence* sequence = rows.sequence;
  while (!PrepareWrite(sequence, rows.count)) {
    victims_.clear();
    for (const Sequence* running : running_) victims_.push_back(ViewOf(*running));
    Sequence* victim = running_[static_cast<size_t>(scheduler_.Victim(victims_))];
    // Submit refuses what does not fit alone.
    CHECK(running_.size() > 1);
    Preempt(victim, PreemptReason::kPages);
    if (!sequence->running()) return;
  }
}

// After all rows of the step, so that nobody that runs loses pages for a guess. Those of the cache
// count as free: a full cache is the rule in a server that has run for a while, and without them
// every guess across the border of a page was lost. The guess ends where the pages do.
void Core::ReserveDrafts(StepRows* rows) {
  const auto pages = [&] {
    return cache_.PagesToWrite(*rows->sequence, rows->count + rows->drafts);
  };
  while (rows->drafts > 0 && pages() > cache_.available_pages()) --rows->drafts;
  if (rows->drafts == 0) return;
  if (!PrepareWrite(rows->sequence, rows->count + rows->drafts)) rows->drafts = 0;
}

bool Core::PrepareWrite(Sequence* sequence, int64_t count) {
  const int64_t evicted_before = cache_.evicted_count();
  const size_t pages_before = sequence->table.pages().size();
  const bool has_pages = cache_.PrepareWrite(sequence, count, &copies_);
  if (tracer_ != nullptr) {
    tracer_->Wrote(*sequence, pages_before, copies_, cache_.evicted_count() - evicted_before);
  }
  if (!has_pages) return false;
  // At once: what is copied could be evicted by the next.
  for (const kv::PageCopy& copy : copies_) network_.CopyPage(copy);
  stats_.pages_copied += static_cast<int64_t>(copies_.size());
  copies_.clear();
  if (const auto copy = cache_.PrepareState(sequence)) CopyState(*copy);
  return true;
}

void Core::CopyState(const kv::StateCopy& copy) {
  network_.CopyState(copy);
  ++stats_.states_copied;
}

void Core::Propose() {
  wishes_.clear();
  const bool draws = chooser_.rule() == SpeculationRule::kRejection;
  for (const StepRows& rows : step_) {
    Sequence& sequence = *rows.sequence;
    sequence.DropDraft();
    // Who guesses looks at the text; what is wrong with it is said when the row is applied.
    if (rows.drafts == 0 || !chooser_.Follow(&sequence).ok()) continue;
    wishes_.push_back({.sequence = &sequence,
                       .most = rows.drafts,
                       .tokens = &sequence.draft,
                       .chances = draws ? &sequence.draft_chances : nullptr});
  }
  caught_up_rows_ = wishes_.empty() ? 0 : proposer_->Propose(wishes_, CatchUpRows());
  for (const StepRows& rows : step_) {
    Sequence& sequence = *rows.sequence;
    CutDraft(&sequence);
    if (rows.drafts > 0 && sequence.draft.empty()) DraftLength::Miss(&sequence.draft_record);
    sequence.request->tenant->view.Charge(static_cast<int64_t>(sequence.draft.size()));
  }
}

// What the constraint refuses would cost a row, and those behind it too. No token depends on it.
void Core::CutDraft(Sequence* sequence) {
  sequence->draft.resize(chooser_.CountAllowed(*sequence, sequence->draft));
}

// Rows that a draft model may compute of prompts in the step. Who is alone makes nobody wait.
int64_t Core::CatchUpRows() const {
  if (running_.size() == 1 && waiting_.empty()) return limits_.max_chunk;
  return token_budget_.DraftRows(RowsOfStep());
}

// But those of guesses.
TokenBudget::Rows Core::RowsOfStep() const {
  TokenBudget::Rows rows = {.draft = caught_up_rows_};
  for (const StepRows& each : step_) {
    (each.samples && each.count == 1 ? rows.decode : rows.prefill) += each.count;
  }
  return rows;
}

// Rows whose hidden states are wanted stand behind all whose logits are (model/step_batch.h).
void Core::PutHiddenLast() {
  const auto wants_hidden = [](const StepRows& rows) {
    return rows.sequence->request->wants_hidden();
  };
  hidden_step_.clear();
  std::copy_if(step_.begin(), step_.end(), std::back_inserter(hidden_step_), wants_hidden);
  if (hidden_step_.empty()) return;
  std::erase_if(step_, wants_hidden);
  step_.insert(step_.end(), hidden_step_.begin(), hidden_step_.end());
}

// Logits are wanted of the last row, and of those of guesses behind it; of a prompt with log
// probabilities the hidden states of all rows from the first that is missing.
Core::OutputRows Core::OutputsOf(const StepRows& rows) {
  const Sequence& sequence = *rows.sequence;
  const RequestState& request = *sequence.request;
  if (request.scores()) {
    const int64_t first = std::max(request.scorer->next() - sequence.computed, int64_t{0});
    return {first, std::max<int64_t>(rows.count - first, 0)};
  }
  const std::optional<Pooler>& pooler = request.pooler;
  if (!pooler) {
    const auto drafts = static_cast<int64_t>(sequence.draft.size());
    return {rows.count - 1, rows.samples ? 1 + drafts : 0};
  }
  const int64_t length = sequence.length();
  const int64_t first = std::max(pooler->FirstWanted(length) - sequence.computed, int64_t{0});
  const int64_t end = std::min(pooler->EndWanted(length) - sequence.computed, rows.count);
  return {first, std::max<int64_t>(end - first, 0)};
}

void Core::BuildBatch() {
  PutHiddenLast();
  batch_.Clear();
  for (const StepRows& rows : step_) {
    const Sequence& sequence = *rows.sequence;
    const int64_t first = batch_.Add(
        {.first_position = sequence.computed,
         .pages = sequence.table.lists(),
         .state = sequence.state.id(),
         .second_text = sequence.request->request.second_text},
        std::span(sequence.tokens)
            .subspan(static_cast<size_t>(sequence.computed), static_cast<size_t>(rows.count)),
        sequence.draft);
    const OutputRows outputs = OutputsOf(rows);
    if (sequence.request->wants_hidden()) {
      batch_.WantHidden(first + outputs.first, outputs.count);
    } else {
      batch_.WantLogits(first + outputs.first, outputs.count);
    }
  }
}

// The states stand behind the rows of the step from now on, also of a sequence that ends before its
// tokens are published.
void Core::NoteConsumed() {
  for (const StepRows& rows : step_) rows.sequence->consumed = rows.sequence->computed + rows.count;
}

void Core::Apply() {
  int64_t logit_index = 0;
  int64_t hidden_index = 0;
  for (const StepRows& rows : step_) {
    const int64_t outputs = OutputsOf(rows).count;
    if (rows.sequence->request->pooler) {
      Pool(rows, hidden_index, outputs);
      hidden_index += outputs;
      continue;
    }
    if (rows.sequence->request->scores()) {
      ApplyScored(rows, hidden_index, outputs);
      hidden_index += outputs;
      continue;
    }
    // An error of one sequence ends its siblings.
    if (rows.sequence->running()) ApplyRows(rows, logit_index);
    logit_index += outputs;
  }
}

// And leaves a copy of the state where one is to stand. Somebody waits for it, or it is worth what
// lies between it and the one before.
void Core::Publish(const StepRows& rows) {
  Sequence* sequence = rows.sequence;
  cache_.Publish(sequence, rows.count);
  if (tracer_ != nullptr && !rows.samples) tracer_->Chunk(*sequence);
  StatePlaces& places = sequence->places;
  if (places.next == 0 || places.next != sequence->computed) return;
  const bool asked = places.asked_at == places.next;
  const int64_t tokens =
      asked ? std::numeric_limits<int64_t>::max() : sequence->computed - places.last;
  if (const auto copy = cache_.KeepState(*sequence, tokens)) {
    CopyState(*copy);
    if (tracer_ != nullptr) tracer_->Snapshot(*sequence);
  }
  places.last = places.next;
}

// Of a request for a score: its one number.
Result<std::vector<float>> Core::ScoreOf(const Pooler& pooler) {
  const float score = network_.Score(pooler.Pooled());
  if (std::isfinite(score)) return std::vector{score};
  return Status(ErrorCode::kNumeric, "the score is not a number: the weights are broken");
}

// What ApplyRows is for a request for an embedding: takes the `count` hidden states.
void Core::Pool(const StepRows& rows, int64_t hidden_index, int64_t count) {
  Sequence* sequence = rows.sequence;
  RequestState* state = sequence->request;
  Publish(rows);
  for (int64_t i = 0; i < count; ++i) state->pooler->Take(network_.Hidden(hidden_index + i));
  if (!rows.samples) {
    return EmitNote(*sequence, ChunkEvent{.done = sequence->computed, .total = sequence->length()});
  }
  Result<std::vector<float>> embedding =
      state->request.score ? ScoreOf(*state->pooler) : state->pooler->Embedding();
  if (!embedding.ok()) {
    return FinishRequest(state, FinishReason::kError, std::move(embedding).status());
  }
  Event event = {.what = EmbeddingEvent{.values = *std::move(embedding)}};
  Emit(state, &event);
  FinishSequence(sequence, FinishReason::kStop);
}

// What ApplyRows is for a prompt whose log probabilities are wanted. The logits of all other rows
// of the step have been read: these go into their place. The row of the last token is one to sample
// from.
void Core::ApplyScored(const StepRows& rows, int64_t hidden_index, int64_t count) {
  RequestState* state = rows.sequence->request;
  const int64_t scored = count - int64_t{rows.samples};
  if (Status status = ScoreRows(*rows.sequence, hidden_index, scored); !status.ok()) {
    return FinishRequest(state, FinishReason::kError, std::move(status));
  }
  if (rows.samples && state->request.stop.max_tokens != 0) {
    network_.TurnToLogits(hidden_index + scored, 1);
    if (Status lost = network_.Lost(); !lost.ok()) {
      return FinishRequest(state, FinishReason::kError, std::move(lost));
    }
  }
  ApplyRows(rows, 0);
}

// As many rows at a time as a step may have logits.
Status Core::ScoreRows(const Sequence& sequence, int64_t hidden_index, int64_t count) {
  PromptScorer& scorer = *sequence.request->scorer;
  const int64_t most = limits_.max_running + limits_.max_draft_rows;
  for (int64_t done = 0; done < count; done += most) {
    const int64_t block = std::min(most, count - done);
    network_.TurnToLogits(hidden_index + done, block);
    RETURN_IF_ERROR(network_.Lost());
    for (int64_t i = 0; i < block; ++i) {
      const TokenId next = sequence.tokens[static_cast<size_t>(scorer.next()) + 1];
      ASSIGN_OR_RETURN(const auto scored, chooser_.Score(network_.Logits(i), next, scorer.top()));
      scorer.Add({.logprob = scored.logprob, .rank = scored.rank}, scored.top);
    }
  }
  return Ok();
}

void Core::TellPrompt(RequestState* state) {
  Event event = {.what = PromptLogprobsEvent{.logprobs = state->scorer->Take()}};
  Emit(state, &event);
}

void Core::ApplyRows(const StepRows& rows, int64_t logit_index) {
  Sequence* sequence = rows.sequence;
  RequestState* state = sequence->request;
  Publish(rows);
  if (!rows.samples) {
    return EmitNote(*sequence, ChunkEvent{.done = sequence->computed, .total = sequence->length()});
  }
  if (state->scorer && state->scorer->is_to_tell()) TellPrompt(state);
  if (state->request.stop.max_tokens == 0) {
    return FinishRequest(state, FinishReason::kLength, Ok());
  }
  if (sequence->phase() == Phase::kPrefill) sequence->MoveTo(Phase::kDecode);
  if (!FollowText(sequence)) return;
  if (state->beams) return ApplyBeam(sequence, network_.Logits(logit_index));
  if (state->unforked() == 0) return Verify(sequence, logit_index);
  const std::span<const float> logits = network_.Logits(logit_index);
  Fork(sequence);
  for (const auto& each : state->sequences) {
    if (!each->running()) continue;
    ++stats_.passes;
    Sample(each.get(), logits);
  }
}

// False if the request has ended: its constraint takes the empty text only, or is too complex. A
// sequence that comes back has its text made again here.
bool Core::FollowText(Sequence* sequence) {
  Status followed = chooser_.Follow(sequence);
  if (!followed.ok()) {
    FinishRequest(sequence->request, FinishReason::kError, std::move(followed));
    return false;
  }
  const bool is_over = sequence->text && sequence->text->state().must_end();
  if (is_over) FinishRequest(sequence->request, FinishReason::kStop, Ok());
  return !is_over;
}

// The prompt is computed: the other sequences of the request join, sharing its pages. A state is
// copied: from the next row on each has its own.
void Core::Fork(Sequence* lead) {
  RequestState* state = lead->request;
  for (int32_t index = 1; index < state->request.sequence_count(); ++index) {
    state->sequences.push_back(cache_.Fork(lead, index, limits_.context));
    Sequence* fork = state->sequences.back().get();
    if (cache_.has_states()) CopyState({lead->state.id(), fork->state.id()});
    fork->MoveTo(Phase::kDecode);
    if (tracer_ != nullptr) tracer_->Forked(*fork);
    running_.insert(std::find(running_.begin(), running_.end(), lead) + index, fork);
  }
}

// Samples the next token, and those behind it as long as the draft knew them: their rows are those
// that would have come next. A guess that was wrong leaves its row behind the computed ones, where
// the next step writes again.
void Core::Verify(Sequence* sequence, int64_t logit_index) {
  RequestState* state = sequence->request;
  const auto drafts = static_cast<int64_t>(sequence->draft.size());
  int64_t tried = 0;
  for (;;) {
    Sample(sequence, network_.Logits(logit_index + tried));
    if (tried == drafts || sequence->awaited) break;
    ++tried;
    const TokenId guess = sequence->draft[static_cast<size_t>(tried) - 1];
    if (sequence->tokens.back() != guess) break;
    ++sequence->draft_accepted;
    // The events of all sequences of the step still fit behind one token more.
    if (!sequence->running() || !state->sink->HasRoom(state->events_per_step() + 1)) break;
    cache_.Publish(sequence, 1);
  }
  ++stats_.passes;
  if (tracer_ != nullptr && drafts > 0) {
    tracer_->Guess(*sequence, drafts, sequence->draft_accepted);
  }
  stats_.draft_tokens += drafts;
  stats_.draft_tokens_accepted += sequence->draft_accepted;
  DraftLength::Learn(tried, sequence->draft_accepted, &sequence->draft_record);
}

void Core::Sample(Sequence* sequence, std::span<const float> logits) {
  RequestState* state = sequence->request;
  const auto index = static_cast<int64_t>(sequence->output().size());
  if (state->request.logit_tap) state->request.logit_tap(sequence->index, index, logits);
  Draw(sequence, logits);
}

// Once more for one whose mask has come.
void Core::Draw(Sequence* sequence, std::span<const float> logits) {
  RequestState* state = sequence->request;
  const auto index = static_cast<int64_t>(sequence->output().size());
  Result<ChosenToken> chosen = chooser_.Choose(*sequence, logits);
  if (!chosen.ok()) {
    if (chosen.status().code() == ErrorCode::kCancelled) return AwaitMask(sequence, logits);
    return FinishRequest(state, FinishReason::kError, std::move(chosen).status());
  }
  const double now = clock_.Seconds();
  if (index > 0) {
    stats_.tbt_seconds.Add(now - sequence->last_token_seconds);
  } else if (sequence->index == 0) {
    stats_.ttft_seconds.Add(now - state->submitted_seconds);
    state->first_token_seconds = now;
  }
  sequence->tokens.push_back(chosen->token);
  sequence->mu = chosen->mu;
  // Before anybody hears of the token: one behind which nothing can be said is none.
  if (Status followed = chooser_.Follow(sequence); !followed.ok()) {
    return FinishRequest(state, FinishReason::kError, std::move(followed));
  }
  stats_.constrained_tokens += int64_t{sequence->text.has_value()};
  sequence->logprob_sum += chosen->logprob.value_or(0);
  sequence->last_token_seconds = now;
  ++stats_.output_tokens;
  if (tracer_ != nullptr) tracer_->Token(*sequence, *chosen, index);
  token_event_.sequence = sequence->index;
  auto& event = std::get<TokenEvent>(token_event_.what);
  event.token = chosen->token;
  event.logprob = chosen->logprob;
  event.index = index;
  event.draw = chosen->draw;
  event.top.assign(chosen->top.begin(), chosen->top.end());
  const Listening answer = Emit(state, &token_event_);
  std::optional<FinishReason> end = chooser_.EndOf(*sequence);
  if (answer == Listening::kEndSequence) end = FinishReason::kStop;
  if (end) return FinishSequence(sequence, *end);
  if (state->gone) FinishRequest(state, FinishReason::kCancelled, Ok());
}

void Core::Measure(double start_seconds) {
  const double seconds = clock_.Seconds() - start_seconds;
  const TokenBudget::Rows of_step = RowsOfStep();
  token_budget_.Observe(of_step, seconds);
  const int64_t rows = batch_.row_count();
  if (of_step.prefill == 0 && of_step.draft == 0) draft_length_.Observe(rows, seconds);
  NotePast(seconds);
  stats_.step_seconds.Add(seconds);
  ++stats_.steps;
  stats_.rows += rows;
  stats_.prefill_rows += of_step.prefill;
}

}  // namespace skald::engine
