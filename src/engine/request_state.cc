#include "engine/request_state.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "sampling/adaptive.h"

namespace skald::engine {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

// The most tokens of an answer; one of them may stand behind the context.
int64_t MaxOutput(const Request& request, int64_t prompt_tokens, int64_t context) {
  const int64_t most = context + 1 - prompt_tokens;
  const int64_t output = request.stop.max_tokens;
  return output < 0 ? most : std::min(output, most);
}

// Room for every token the sequence can ever have: it never grows while steps run.
void ReserveTokens(const Request& request, int64_t prompt_tokens, int64_t context,
                   std::vector<TokenId>* tokens) {
  const int64_t wanted = prompt_tokens + MaxOutput(request, prompt_tokens, context);
  tokens->reserve(static_cast<size_t>(wanted));
}

// So many of each beam that of all together as many as there are beams do not end the text.
int64_t ContinuationsWanted(const Request& request, std::span<const TokenId> end_tokens) {
  const size_t ends =
      request.stop.stop_tokens.size() + (request.stop.ignore_eos ? 0 : end_tokens.size());
  return request.beam_search.beams * (1 + static_cast<int64_t>(std::max<size_t>(ends, 1)));
}

// The model's end tokens, unless ignored, and the request's own are not chosen.
SamplingParams EarlySampling(const Request& request, std::span<const TokenId> end_tokens) {
  SamplingParams params = request.sampling;
  const auto ban = [&](TokenId token) { params.logit_bias.push_back({token, kBanned}); };
  if (!request.stop.ignore_eos) std::for_each(end_tokens.begin(), end_tokens.end(), ban);
  std::for_each(request.stop.stop_tokens.begin(), request.stop.stop_tokens.end(), ban);
  return params;
}

}  // namespace

void BeamState::TakeOffersBack() {
  offered = 0;
  search.TakeOffersBack();
}

bool IsLegal(Phase from, Phase to) {
  switch (from) {
    case Phase::kQueued: return to == Phase::kPrefill || to == Phase::kFinished;
    case Phase::kPrefill:
      return to == Phase::kDecode || to == Phase::kPreempted || to == Phase::kFinished;
    case Phase::kDecode: return to == Phase::kPreempted || to == Phase::kFinished;
    case Phase::kPreempted: return to == Phase::kPrefill || to == Phase::kFinished;
    case Phase::kFinished: return false;
  }
  return false;
}

void DraftChances::Clear() {
  candidates.clear();
  ends.clear();
}

std::span<const sampling::Candidate> DraftChances::At(size_t index) const {
  if (index >= ends.size()) return {};
  const size_t begin = index == 0 ? 0 : ends[index - 1];
  return std::span(candidates).subspan(begin, ends[index] - begin);
}

void Sequence::MoveTo(Phase next) {
  CHECK(IsLegal(phase_, next));
  phase_ = next;
}

void Sequence::DropDraft() {
  draft.clear();
  draft_chances.Clear();
  draft_accepted = 0;
}

std::span<const TokenId> Sequence::prompt() const {
  return std::span(tokens).first(static_cast<size_t>(request->prompt_tokens));
}

std::span<const TokenId> Sequence::output() const {
  return std::span(tokens).subspan(static_cast<size_t>(request->prompt_tokens));
}

int32_t RequestState::unforked() const {
  const auto live = [](const auto& each) { return each->phase() != Phase::kFinished; };
  const auto count = beams ? std::count_if(sequences.begin(), sequences.end(), live)
                           : static_cast<int64_t>(sequences.size());
  return request.width() - static_cast<int32_t>(count);
}

const Sequence* RequestState::lead() const {
  const auto first = std::find_if(sequences.begin(), sequences.end(), [](const auto& each) {
    return each->phase() != Phase::kFinished;
  });
  return first == sequences.end() ? nullptr : first->get();
}

bool RequestState::waits() const {
  return std::any_of(sequences.begin(), sequences.end(), [](const auto& sequence) {
    return !sequence->running() && sequence->phase() != Phase::kFinished;
  });
}

bool GoesBefore(const Sequence& a, const Sequence& b) {
  // Ids are given in the order of Submit.
  const auto key = [](const Sequence& sequence) {
    return std::tuple(-int64_t{sequence.request->priority}, sequence.request->id, sequence.index);
  };
  return key(a) < key(b);
}

namespace {

RequestPhase PhaseOf(const RequestState& request) {
  const auto any = [&](Phase phase) {
    return std::any_of(request.sequences.begin(), request.sequences.end(),
                       [&](const auto& sequence) { return sequence->phase() == phase; });
  };
  if (any(Phase::kDecode)) return RequestPhase::kDecode;
  if (any(Phase::kPrefill)) return RequestPhase::kPrefill;
  return request.admitted ? RequestPhase::kPreempted : RequestPhase::kQueued;
}

}  // namespace

RequestProgress ProgressOf(const RequestState& request) {
  RequestProgress progress = {.id = request.id,
                              .label = request.request.label,
                              .phase = PhaseOf(request),
                              .prompt_tokens = request.prompt_tokens,
                              .cached_tokens = request.cached_tokens,
                              .sequences = request.request.width(),
                              .tenant = request.request.tenant,
                              .submitted_seconds = request.submitted_seconds,
                              .first_token_seconds = request.first_token_seconds};
  for (const auto& sequence : request.sequences) {
    progress.computed_tokens += sequence->computed;
    progress.output_tokens += static_cast<int64_t>(sequence->output().size());
    progress.pages += static_cast<int64_t>(sequence->table.pages().size());
    progress.last_token_seconds =
        std::max(progress.last_token_seconds, sequence->last_token_seconds);
  }
  return progress;
}

std::vector<int32_t> AnswerOf(const RequestState& request) {
  const auto count = static_cast<size_t>(request.request.sequence_count());
  std::vector<int32_t> answer(count);
  std::iota(answer.begin(), answer.end(), 0);
  if (request.request.best_of <= request.request.n) return answer;
  std::vector<double> means(count);  // 0 where no token was computed
  for (const auto& sequence : request.sequences) {
    const auto tokens = static_cast<double>(std::max<size_t>(1, sequence->output().size()));
    means[static_cast<size_t>(sequence->index)] = sequence->logprob_sum / tokens;
  }
  std::stable_sort(answer.begin(), answer.end(), [&](int32_t a, int32_t b) {
    return means[static_cast<size_t>(a)] > means[static_cast<size_t>(b)];
  });
  answer.resize(static_cast<size_t>(request.request.n));
  return answer;
}

RequestProgress ProgressOf(const Arrival& arrival) {
  return {.id = arrival.id,
          .label = arrival.request.label,
          .prompt_tokens = static_cast<int64_t>(arrival.request.prompt.size()),
          .sequences = arrival.request.width(),
          .tenant = arrival.request.tenant,
          .submitted_seconds = arrival.seconds};
}

std::unique_ptr<RequestState> MakeState(Arrival arrival, std::span<const TokenId> end_tokens,
                                        kv::PagePool* pool, int64_t context) {
  auto state = std::make_unique<RequestState>();
  state->id = arrival.id;
  state->request = std::move(arrival.request);
  state->sink = std::move(arrival.sink);
  Request& request = state->request;
  if (request.pooling != Pooling::kNone) {
    state->pooler.emplace(request.pooling);
    request.stop = {.max_tokens = 0};
  }
  state->prompt_tokens = static_cast<int64_t>(request.prompt.size());
  if (request.prompt_logprobs)
    state->scorer.emplace(state->prompt_tokens, *request.prompt_logprobs);
  state->submitted_seconds = arrival.seconds;
  state->priority = request.priority;
  if (request.deadline_seconds) {
    state->deadline_seconds = arrival.seconds + *request.deadline_seconds;
  }
  state->unfinished = request.sequence_count();
  if (request.sequence_count() > request.n && !request.sampling.top_logprobs) {
    request.sampling.top_logprobs = 0;
  }
  if (request.beam_search.beams > 0) {
    state->beams.emplace(BeamState{
        .search =
            BeamSearch(request.beam_search, MaxOutput(request, state->prompt_tokens, context)),
        .continuations = ContinuationsWanted(request, end_tokens),
        .live = {}});
  }
  if (request.stop.min_tokens > 0) state->early_sampling = EarlySampling(request, end_tokens);
  auto lead = std::make_unique<Sequence>(state.get(), 0, kv::PageTable(pool, context));
  lead->mu = sampling::FirstMu(request.sampling.mirostat);
  lead->tokens = std::exchange(request.prompt, {});
  ReserveTokens(request, state->prompt_tokens, context, &lead->tokens);
  state->sequences.reserve(static_cast<size_t>(request.width()));
  state->sequences.push_back(std::move(lead));
  return state;
}

std::unique_ptr<Sequence> ForkSequence(Sequence* lead, int32_t index, int64_t context) {
  auto fork = std::make_unique<Sequence>(lead->request, index, lead->table.Fork(lead->computed));
  ReserveTokens(lead->request->request, lead->request->prompt_tokens, context, &fork->tokens);
  fork->tokens = lead->tokens;
  fork->computed = lead->computed;
  fork->consumed = lead->consumed;
  fork->pin = lead->pin.Fork();
  fork->text = lead->text;
  fork->mu = lead->mu;
  fork->MoveTo(Phase::kPrefill);
  return fork;
}

}  // namespace skald::engine
