#include "engine/tracer.h"

#include <algorithm>

namespace skald::engine {
namespace {

static_assert(static_cast<int>(TraceEnd::kError) == static_cast<int>(FinishReason::kError) &&
              kFinishReasonCount == 6);
TraceEnd EndFor(FinishReason reason) { return static_cast<TraceEnd>(reason); }

// As many as the list has room for.
template <typename List, typename Id>
List ListOf(std::span<const Id> ids) {
  List list;
  list.count = static_cast<uint8_t>(std::min(ids.size(), List::room()));
  std::copy_n(ids.begin(), list.count, list.ids.begin());
  return list;
}

}  // namespace

void Tracer::Append(const TraceBody& body) {
  ring_.Append({.seconds = clock_.Seconds(), .body = body});
}

void Tracer::AppendOf(const RequestState& request, int32_t sequence, const TraceBody& body) {
  ring_.Append({.seconds = clock_.Seconds(),
                .request = static_cast<uint64_t>(request.id),
                .sequence = sequence,
                .body = body});
}

void Tracer::Queued(const Sequence& lead) {
  const Request& request = lead.request->request;
  const SamplingParams& sampling = request.sampling;
  AppendOf(lead, TraceQueued{.prompt_tokens = lead.length(),
                             .max_tokens = request.stop.max_tokens,
                             .sequences = request.sequence_count(),
                             .priority = request.priority,
                             .tenant = request.tenant,
                             .seed = sampling.seed,
                             .temperature = sampling.temperature,
                             .top_k = sampling.truncation.top_k,
                             .top_p = sampling.truncation.top_p,
                             .min_p = sampling.truncation.min_p,
                             .typical_p = sampling.truncation.typical_p});
  const std::span<const TokenId> tokens = lead.tokens;
  constexpr size_t kRoom = decltype(TracePrompt::tokens)::room();
  for (size_t first = 0; first < tokens.size(); first += kRoom) {
    AppendOf(lead,
             TracePrompt{.first = static_cast<int64_t>(first),
                         .tokens = ListOf<decltype(TracePrompt::tokens)>(tokens.subspan(first))});
  }
}

void Tracer::Waits(Sequence* sequence, WaitReason reason) {
  if (sequence->told_waits == reason) return;
  sequence->told_waits = reason;
  AppendOf(*sequence, TraceWaits{reason});
}

void Tracer::Admitted(const Sequence& sequence, const CachedTokens& from) {
  AppendOf(
      sequence,
      TraceAdmitted{.cached = sequence.computed, .disk = from.disk, .length = sequence.length()});
  Pages(sequence, PageAct::kShared, 0);
}

void Tracer::Resumed(const Sequence& sequence, const CachedTokens& from) {
  AppendOf(
      sequence,
      TraceResumed{.cached = sequence.computed, .disk = from.disk, .length = sequence.length()});
  Pages(sequence, PageAct::kShared, 0);
}

// From index `first` of its table on.
void Tracer::Pages(const Sequence& sequence, PageAct act, size_t first) {
  const std::span<const kv::PageId> pages = sequence.table.pages();
  constexpr size_t kRoom = decltype(TracePages::ids)::room();
  for (; first < pages.size(); first += kRoom) {
    TracePages part = {.act = act,
                       .first = static_cast<int64_t>(first),
                       .ids = ListOf<decltype(TracePages::ids)>(pages.subspan(first))};
    part.count = part.ids.count;
    AppendOf(sequence, part);
  }
}

void Tracer::Evicted(const Sequence& sequence, int64_t count) {
  if (count > 0) AppendOf(sequence, TracePages{.act = PageAct::kEvicted, .count = count});
}

void Tracer::Wrote(const Sequence& sequence, size_t pages_before,
                   std::span<const kv::PageCopy> copies, int64_t evicted) {
  Evicted(sequence, evicted);
  const std::span<const kv::PageId> pages = sequence.table.pages();
  for (const kv::PageCopy& copy : copies) {
    const auto place = std::find(pages.begin(), pages.end(), copy.to);
    AppendOf(sequence, TracePages{.act = PageAct::kCopied,
                                  .count = 1,
                                  .first = place - pages.begin(),
                                  .ids = {.ids = {copy.to}, .count = 1}});
  }
  Pages(sequence, PageAct::kTaken, pages_before);
}

void Tracer::Snapshot(const Sequence& sequence) {
  AppendOf(sequence, TraceSnapshot{.position = sequence.computed});
}

void Tracer::Chunk(const Sequence& sequence) {
  AppendOf(sequence, TraceChunk{.computed = sequence.computed, .length = sequence.length()});
}

void Tracer::Token(const Sequence& sequence, const ChosenToken& chosen, int64_t index) {
  const auto next = static_cast<size_t>(sequence.draft_accepted);
  AppendOf(sequence, TraceToken{.token = chosen.token,
                                .index = index,
                                .guessed = next < sequence.draft.size() &&
                                           sequence.draft[next] == chosen.token,
                                .p_model = chosen.odds.model,
                                .p_drawn = chosen.odds.drawn,
                                .draw = chosen.odds.draw,
                                .candidates = chosen.odds.candidates,
                                .left_top_n_sigma = chosen.odds.left_top_n_sigma,
                                .left_top_k = chosen.odds.left_top_k,
                                .left_typical = chosen.odds.left_typical,
                                .left_top_p = chosen.odds.left_top_p,
                                .left_min_p = chosen.odds.left_min_p});
}

void Tracer::BeamToken(const RequestState& request, int32_t sequence, TokenId token,
                       int64_t index) {
  AppendOf(request, sequence, TraceToken{.token = token, .index = index});
}

void Tracer::Guess(const Sequence& sequence, int64_t tokens, int64_t kept) {
  AppendOf(sequence, TraceGuess{.tokens = tokens, .kept = kept});
}

void Tracer::Preempted(const Sequence& sequence, PreemptReason reason) {
  AppendOf(
      sequence,
      TracePreempted{.reason = reason, .computed = sequence.computed, .length = sequence.length()});
}

void Tracer::Ended(const RequestState& request, int32_t sequence, FinishReason reason) {
  AppendOf(request, sequence, TraceEnded{.reason = EndFor(reason)});
}

void Tracer::Finished(const RequestState& request, FinishReason reason) {
  AppendOf(request, 0,
           TraceFinished{.reason = EndFor(reason),
                         .prompt_tokens = request.prompt_tokens,
                         .cached_tokens = request.cached_tokens});
}

}  // namespace skald::engine
