// Beam search: the beams of a request are sequences that share pages as far as they share tokens.
// Between two steps all of them have the same length, and they decode together. They are preempted
// together too, for a beam without the others cannot go on; when they come back, one after the
// other finds in the tree what those before it have computed.

#include <algorithm>
#include <utility>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "engine/core.h"
#include "kernels/attention/attention.h"

namespace skald::engine {
namespace {

// What is told where the search found fewer texts than wanted: the vocabulary is tiny, or nearly
// all of it banned.
const FinishedText kNoText;

bool IsReady(const Sequence* beam) { return beam->running() && beam->remaining() == 1; }

}  // namespace

// Beams that lack pages, in their order, take what is cached by now: all that those before them
// have computed. The first that finds too little computes the rest before others look.
void Core::ResumeBeams() {
  const RequestState* last = nullptr;
  for (const Sequence* running : running_) {
    // The sequences of a request stand together.
    const RequestState* state = running->request;
    if (!state->beams || std::exchange(last, state) == state) continue;
    for (Sequence* beam : state->beams->live) {
      if (IsReady(beam)) continue;
      // One that has nothing yet gets a pin even where nothing is cached.
      if (!beam->running() || (beam->computed > 0 && cache_.Match(*beam) <= beam->computed)) break;
      cache_.Release(beam);
      cache_.Acquire(beam);
      if (!IsReady(beam)) break;
    }
  }
}

// Rows at the end of a sequence that are not to be computed yet: with beams, the last of each until
// all have come so far, and all of those whose turn it is not.
int64_t Core::HeldRows(const Sequence& sequence) {
  if (!sequence.request->beams || sequence.request->beams->live.size() < 2) return 0;
  const auto& live = sequence.request->beams->live;
  const auto next = std::find_if_not(live.begin(), live.end(), IsReady);
  if (next == live.end()) return 0;
  return *next == &sequence || IsReady(&sequence) ? 1 : sequence.remaining();
}

// What the other beams of a waiting search can need beside the first: all behind the prompt.
int64_t Core::PagesOfOtherBeams(const Sequence& lead) {
  const RequestState& state = *lead.request;
  if (!state.beams || state.beams->live.empty()) return 0;
  const int64_t own = DivCeil<int64_t>(lead.length(), kernels::kPageTokens) -
                      state.prompt_tokens / kernels::kPageTokens;
  return (static_cast<int64_t>(state.beams->live.size()) - 1) * own;
}

// A row of a beam is computed. With the last one of them the search makes a step.
void Core::ApplyBeam(Sequence* beam, std::span<const float> logits) {
  RequestState* state = beam->request;
  BeamState& beams = *state->beams;
  if (beams.live.empty()) beams.live.push_back(beam);
  const auto continuations = ContinuationsOf(beam, logits);
  if (!continuations.ok()) {
    if (continuations.status().code() == ErrorCode::kCancelled) return AwaitMask(beam, logits);
    return FinishRequest(state, FinishReason::kError, continuations.status());
  }
  const auto rank = std::find(beams.live.begin(), beams.live.end(), beam) - beams.live.begin();
  beams.search.Offer(static_cast<int32_t>(rank), beam->logprob_sum, *continuations);
  if (++beams.offered < static_cast<int64_t>(beams.live.size())) return;
  beams.offered = 0;
  ExtendBeams(state);
}

// Where a constraint may end a text with any token, so many that as many as there are beams go on.
Result<std::span<const TokenLogprob>> Core::ContinuationsOf(Sequence* beam,
                                                            std::span<const float> logits) {
  const RequestState& state = *beam->request;
  int64_t wanted = state.beams->continuations;
  for (;; wanted *= 2) {
    ASSIGN_OR_RETURN(const auto found, chooser_.Continuations(*beam, logits, wanted));
    if (!beam->text || std::ssize(found) < wanted) return found;
    int32_t going_on = 0;
    for (const TokenLogprob& each : found) {
      ASSIGN_OR_RETURN(const auto end, EndWith(beam, each.token));
      going_on += int32_t{!end.has_value()};
    }
    if (going_on >= state.request.beam_search.beams) return found;
  }
}

// Why the text of a beam ends with `token`, if it does. Leaves the beam as it was.
Result<std::optional<FinishReason>> Core::EndWith(Sequence* beam, TokenId token) {
  const std::optional<ConstrainedText> before = beam->text;
  beam->tokens.push_back(token);
  const Status followed = chooser_.Follow(beam);
  const std::optional<FinishReason> end = followed.ok() ? chooser_.EndOf(*beam) : std::nullopt;
  beam->tokens.pop_back();
  beam->text = before;
  RETURN_IF_ERROR(followed);
  return end;
}

void Core::ExtendBeams(RequestState* state) {
  BeamState& beams = *state->beams;
  const auto width = static_cast<size_t>(state->request.beam_search.beams);
  const auto ranked = beams.search.Rank();
  extensions_.clear();
  for (size_t i = 0; i < ranked.size() && extensions_.size() < width; ++i) {
    Sequence* beam = beams.live[static_cast<size_t>(ranked[i].beam)];
    const auto end = EndWith(beam, ranked[i].token);
    if (!end.ok()) return FinishRequest(state, FinishReason::kError, end.status());
    if (!*end) extensions_.push_back(ranked[i]);
    if (!*end || i >= width) continue;
    beam->tokens.push_back(ranked[i].token);
    beams.search.Finish(beam->output(), ranked[i].sum, **end);
    beam->tokens.pop_back();
  }
  const auto length = static_cast<int64_t>(beams.live.front()->output().size()) + 1;
  if (extensions_.empty() || beams.search.IsOver(extensions_.front().sum, length)) {
    for (Sequence* beam : beams.live) Retire(beam);
    beams.live.clear();
    beams.over = true;
    watched_.push_back(state->id);
    return TellBeams(state);
  }
  GrowBeams(state);
}

// The first extension of a beam goes on in its place and its pages, further ones in the places of
// beams that have none, or in new ones.
void Core::GrowBeams(RequestState* state) {
  std::vector<Sequence*>& live = state->beams->live;
  spare_beams_.clear();
  for (size_t i = 0; i < live.size(); ++i) {
    const bool goes_on =
        std::any_of(extensions_.begin(), extensions_.end(),
                    [i](const Extension& each) { return each.beam == static_cast<int32_t>(i); });
    if (!goes_on) spare_beams_.push_back(live[i]);
  }
  // Their pages first: somebody may need them.
  for (Sequence* spare : spare_beams_) cache_.Release(spare);
  grown_beams_.clear();
  for (size_t i = 0; i < extensions_.size(); ++i) {
    const int32_t from = extensions_[i].beam;
    Sequence* parent = live[static_cast<size_t>(from)];
    const bool is_first =
        std::none_of(extensions_.begin(), extensions_.begin() + static_cast<int64_t>(i),
                     [from](const Extension& each) { return each.beam == from; });
    grown_beams_.push_back(is_first ? parent : ForkBeam(parent));
  }
  for (Sequence* spare : spare_beams_) Retire(spare);
  for (size_t i = 0; i < extensions_.size(); ++i) {
    grown_beams_[i]->tokens.push_back(extensions_[i].token);
    grown_beams_[i]->logprob_sum = extensions_[i].sum;
  }
  std::swap(live, grown_beams_);
}

Sequence* Core::ForkBeam(Sequence* parent) {
  if (!spare_beams_.empty()) {
    Sequence* spare = spare_beams_.back();
    spare_beams_.pop_back();
    cache_.ForkInto(parent, spare);
    return spare;
  }
  auto& sequences = parent->request->sequences;
  const auto free = std::find_if(sequences.begin(), sequences.end(), [](const auto& each) {
    return each->phase() == Phase::kFinished;
  });
  const auto index = static_cast<int32_t>(free - sequences.begin());
  if (free == sequences.end()) sequences.emplace_back();
  auto& place = sequences[static_cast<size_t>(index)];
  place = cache_.Fork(parent, index, limits_.context);
  place->displaced = parent->displaced;
  place->MoveTo(Phase::kDecode);
  InsertRunning(place.get());
  return place.get();
}

// Says the finished texts, the best as the first sequence, as far as their reader has room.
void Core::TellBeams(RequestState* state) {
  BeamState& beams = *state->beams;
  while (state->unfinished > 0 && state->sink->HasRoom(state->events_per_step())) {
    const int32_t told = state->request.sequence_count() - state->unfinished;
    const auto& finished = beams.search.finished();
    const auto rank = static_cast<size_t>(told);
    const FinishedText& text = rank < finished.size() ? finished[rank] : kNoText;
    FinishReason reason = text.reason;
    bool ends = beams.told_tokens == text.tokens.size();
    if (!ends) {
      const Listening answer = TellToken(state, told, text.tokens[beams.told_tokens++]);
      if (state->gone) return FinishRequest(state, FinishReason::kCancelled, Ok());
      if (answer != Listening::kEndSequence) continue;
      reason = FinishReason::kStop;
    }
    beams.told_tokens = 0;
    if (told == 0) beams.reason = reason;
    EmitEnd(state, told, reason, text.score);
    if (--state->unfinished == 0) FinishRequest(state, beams.reason, Ok());
  }
}

Listening Core::TellToken(RequestState* state, int32_t sequence, TokenId token) {
  const auto index = static_cast<int64_t>(state->beams->told_tokens) - 1;
  if (index == 0 && sequence == 0) {
    stats_.ttft_seconds.Add(clock_.Seconds() - state->submitted_seconds);
  }
  ++stats_.output_tokens;
  if (tracer_ != nullptr) tracer_->BeamToken(*state, sequence, token, index);
  ++stats_.passes;
  token_event_.sequence = sequence;
  auto& event = std::get<TokenEvent>(token_event_.what);
  event.token = token;
  event.logprob = std::nullopt;
  event.index = index;
  event.top.clear();
  event.draw = {};
  return Emit(state, &token_event_);
}

}  // namespace skald::engine
