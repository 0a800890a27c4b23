#include "sim/invariants.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked_math.h"
#include "kernels/attention/attention.h"
#include "sim/constraints.h"
#include "sim/plan_invariants.h"
#include "skald/transcript.h"

namespace skald::sim {
namespace {

using engine::Core;
using engine::Phase;
using engine::Sequence;

// No more are admitted in one step.
constexpr int32_t kMaxAdmitted = 16;

// References of running sequences are exactly those that the pool counts; a page has one writer.
std::string CheckPages(const Core& core, const engine::CacheManager& cache) {
  std::vector<int32_t> references(static_cast<size_t>(cache.pool().total_count()));
  std::vector<int32_t> writers(references.size());
  for (const Sequence* sequence : core.running()) {
    const auto pages = sequence->table.pages();
    const int64_t needed = DivCeil<int64_t>(sequence->computed, kernels::kPageTokens);
    if (static_cast<int64_t>(pages.size()) < needed) return "a table is shorter than its positions";
    for (size_t i = 0; i < pages.size(); ++i) {
      ++references[static_cast<size_t>(pages[i])];
      if (sequence->table.OwnsPage(static_cast<int64_t>(i))) {
        ++writers[static_cast<size_t>(pages[i])];
      }
    }
  }
  for (kv::PageId page = 0; page < cache.pool().total_count(); ++page) {
    const int32_t held = cache.pool().reference_count(page) - cache.pool().cache_references(page);
    if (held != references[static_cast<size_t>(page)]) {
      return "page " + std::to_string(page) + " has " + std::to_string(held) + " references, but " +
             std::to_string(references[static_cast<size_t>(page)]) + " sequences hold it";
    }
    if (writers[static_cast<size_t>(page)] > 1) {
      return "page " + std::to_string(page) + " has two writers";
    }
  }
  return {};
}

// Each sequence that runs has the window pages that its next row sees in use, and no others.
std::string CheckWindows(const Core& core, const engine::CacheManager& cache) {
  const kv::WindowPool& windows = cache.pool().windows();
  if (!windows.exists()) return {};
  std::vector<int32_t> users(static_cast<size_t>(cache.pool().total_count()));
  for (const Sequence* sequence : core.running()) {
    const kv::PageLists pages = sequence->table.lists();
    const int64_t first = windows.FirstSeen(sequence->computed);
    for (size_t i = 0; i < pages.full.size(); ++i) {
      const auto index = static_cast<int64_t>(i);
      const bool seen = index >= first || index < windows.pinned_pages();
      if (pages.window[i] != (seen ? windows.Of(pages.full[i]) : kv::kNoPage)) {
        return "a sequence has a window page that is not its own";
      }
      users[static_cast<size_t>(pages.full[i])] += int32_t{seen};
    }
  }
  for (kv::PageId page = 0; page < cache.pool().total_count(); ++page) {
    if (windows.users(page) != users[static_cast<size_t>(page)]) {
      return "the window page of page " + std::to_string(page) + " is in other windows";
    }
  }
  return {};
}

// Whoever has the ticket waits, or has not begun to compute yet.
bool IsWaitedFor(const Core& core, kv::PrefixTree::Ticket ticket) {
  const auto has = [&](const Sequence* sequence) { return sequence->ticket == ticket; };
  return std::any_of(core.waiting().begin(), core.waiting().end(), has) ||
         std::any_of(core.running().begin(), core.running().end(), has);
}

// Of a network with states, each sequence that has computed something has a slot of its own, and
// otherwise only snapshots have one. Of another network nobody has.
std::string CheckStates(const Core& core, const engine::CacheManager& cache) {
  int64_t holders = 0;
  std::vector<int> seen(static_cast<size_t>(cache.states().total_count()));
  const auto holds = [&](kv::StateId id) {
    ++holders;
    return seen[static_cast<size_t>(id)]++ == 0;
  };
  for (const Sequence* sequence : core.running()) {
    const bool keeps = sequence->pin.state() != kv::kNoState;
    if (sequence->computed > 0 && cache.has_states() && keeps == sequence->state.holds()) {
      return "a sequence has no state, or keeps another";
    }
    if (!sequence->state.holds()) continue;
    if (sequence->consumed != sequence->computed) return "a state is not where its sequence is";
    if (!holds(sequence->state.id())) return "two sequences have one state";
  }
  for (const auto& snapshot : cache.tree().Snapshots()) {
    if (!holds(snapshot.state)) return "a snapshot has the slot of somebody else";
    if (snapshot.ticket != kv::PrefixTree::kNoTicket && !IsWaitedFor(core, snapshot.ticket)) {
      return "nobody waits for a snapshot that is kept for somebody";
    }
  }
  if (holders != cache.states().held_count()) return "a state slot is held by nobody";
  return cache.states().CheckIntegrity();
}

std::string CheckSequences(const Core& core, const engine::CoreLimits& limits) {
  if (static_cast<int64_t>(core.running().size()) > limits.max_running) {
    return "too many sequences run";
  }
  const auto in_order = [](const Sequence* a, const Sequence* b) { return GoesBefore(*a, *b); };
  if (!std::is_sorted(core.running().begin(), core.running().end(), in_order) ||
      !std::is_sorted(core.waiting().begin(), core.waiting().end(), in_order)) {
    return "a list is out of order";
  }
  for (const Sequence* sequence : core.running()) {
    if (!sequence->running()) return "a sequence is in the wrong list";
    if (sequence->pin.tokens() != sequence->computed) return "a pin is not where its sequence is";
    const auto& beams = sequence->request->beams;
    const bool awaits = sequence->awaited || (beams && beams->offered > 0);
    if (awaits != (sequence->remaining() == 0)) return "a sequence has nothing left to compute";
    if (sequence->displaced > engine::kMaxDisplaced) return "a sequence is displaced too often";
  }
  for (const Sequence* sequence : core.waiting()) {
    if (sequence->phase() != Phase::kQueued && sequence->phase() != Phase::kPreempted) {
      return "a sequence is in the wrong list";
    }
    if (!sequence->table.pages().empty() || sequence->computed != 0) {
      return "a waiting sequence has pages";
    }
  }
  size_t live = 0;
  for (const auto& request : core.requests()) {
    if (request->overtaken > limits.max_overtaken + kMaxAdmitted) {
      return "a request is overtaken too often";
    }
    for (const auto& sequence : request->sequences) {
      live += size_t{sequence->phase() != Phase::kFinished};
      const bool has_pages = !sequence->table.pages().empty();
      if (sequence->phase() == Phase::kFinished && has_pages) return "an ended sequence has pages";
    }
  }
  if (live != core.running().size() + core.waiting().size()) return "a sequence is in no list";
  return {};
}

// Each behind those before it, by the letters they spell.
bool MayFollow(const Request& request, std::vector<TokenId> output,
               std::span<const TokenId> draft) {
  for (const TokenId token : draft) {
    if (MustEnd(request, output)) return false;
    if (!FollowingOf(request, output)[static_cast<size_t>(token)]) return false;
    output.push_back(token);
  }
  return true;
}

// No row is computed of a guess that the constraint refuses. How much of the draft is behind the
// computed tokens depends on whether its reader had room for one token more.
std::string CheckDrafts(const Core& core) {
  for (const Sequence* sequence : core.running()) {
    const Request& request = sequence->request->request;
    if (!request.constraint || sequence->draft.empty()) continue;
    const auto allowed = [&](int64_t kept) {
      const int64_t begin = sequence->computed - kept - sequence->request->prompt_tokens;
      if (begin < 0) return false;
      const auto output = sequence->output().first(static_cast<size_t>(begin));
      return MayFollow(request, {output.begin(), output.end()}, sequence->draft);
    };
    const int64_t accepted = sequence->draft_accepted;
    if (!allowed(accepted) && !allowed(accepted - 1)) return "a guess is not cut";
  }
  return {};
}

std::string Collect(const RecordingSink& sink, Transcript* told) {
  for (const Event& event : sink.events()) {
    if (told->end) return "an event after the end";
    if (event.sequence < 0 || static_cast<size_t>(event.sequence) >= told->sequences.size())
      return "an event of no sequence";
    const TranscriptSequence& sequence = told->sequences[static_cast<size_t>(event.sequence)];
    if (const auto* token = event.As<TokenEvent>()) {
      if (sequence.reason) return "a token after the end of its sequence";
      if (token->index != static_cast<int64_t>(sequence.tokens.size())) {
        return "a token is missing or out of order";
      }
    }
    if (event.Is<PromptLogprobsEvent>() && (told->prompt_logprobs || told->output_tokens > 0))
      return "log probabilities of the prompt come twice or late";
    if (event.Is<EmbeddingEvent>() && (sequence.reason || !told->embedding.empty()))
      return "a second embedding";
    if (event.Is<SequenceFinishedEvent>() && sequence.reason) return "a sequence ends twice";
    const auto matched_all = [](const auto* part) { return part && part->done >= part->total; };
    if (matched_all(event.As<AdmittedEvent>()) || matched_all(event.As<ResumedEvent>()))
      return "everything was matched";
    const auto is_miscounted = [](const auto* part) {
      return part && part->from.total() != part->done;
    };
    if (is_miscounted(event.As<AdmittedEvent>()) || is_miscounted(event.As<ResumedEvent>()))
      return "cached tokens come from nowhere, or twice";
    told->Add(event);
  }
  return {};
}

bool AreEqual(const PromptLogprobs& a, const PromptLogprobs& b) {
  const auto same_token = [](const auto& x, const auto& y) {
    return x.logprob == y.logprob && x.rank == y.rank;
  };
  const auto same_top = [](const auto& x, const auto& y) {
    return x.token == y.token && x.logprob == y.logprob;
  };
  return std::equal(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end(),
                    same_token) &&
         std::equal(a.top.begin(), a.top.end(), b.top.begin(), b.top.end(), same_top) &&
         a.top_ends == b.top_ends;
}

// They are there before anything that is generated, and wherever that or a good end is.
std::string CheckPromptLogprobs(const Request& request, const Transcript& told,
                                sampling::Sampler* sampler) {
  if (!request.prompt_logprobs)
    return told.prompt_logprobs ? "log probabilities that nobody wants" : "";
  const FinishReason end = told.end->reason;
  const bool is_whole = end == FinishReason::kStop || end == FinishReason::kLength ||
                        end == FinishReason::kContext || told.output_tokens > 0;
  if (!told.prompt_logprobs) return is_whole ? "log probabilities are missing" : "";
  if (AreEqual(*told.prompt_logprobs, ScoreAlone(request, sampler))) return {};
  return "log probabilities are not those of the prompt alone";
}

// The n sequences of the answer: with best_of those whose tokens have the highest mean log
// probability.
std::string CheckChosen(const Request& request, const Transcript& told) {
  std::vector<int32_t> order;
  for (int32_t i = 0; i < request.sequence_count(); ++i) order.push_back(i);
  const auto mean = [&](int32_t i) {
    const std::vector<double>& all = told.sequences[static_cast<size_t>(i)].logprobs;
    return std::accumulate(all.begin(), all.end(), 0.0) /
           std::max(static_cast<double>(all.size()), 1.0);
  };
  if (request.best_of > request.n) {
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return mean(a) > mean(b); });
  }
  order.resize(static_cast<size_t>(request.n));
  return told.end->answer == order ? "" : "the answer is not made of the best";
}

// True if a text that is all there has a token that could not be chosen.
bool FailsBeforeEnd(const Client& client, const Answer& alone) {
  return client.fails_at_token >= 0 &&
         client.fails_at_token < static_cast<int64_t>(alone.tokens.size());
}

}  // namespace

std::string CheckStep(const Core& core, const engine::CacheManager& cache,
                      const engine::CoreLimits& limits) {
  if (std::string wrong = cache.pool().CheckIntegrity(); !wrong.empty()) return wrong;
  if (std::string wrong = cache.tree().CheckIntegrity(); !wrong.empty()) return wrong;
  if (std::string wrong = CheckPages(core, cache); !wrong.empty()) return wrong;
  if (std::string wrong = CheckWindows(core, cache); !wrong.empty()) return wrong;
  if (std::string wrong = CheckStates(core, cache); !wrong.empty()) return wrong;
  if (std::string wrong = CheckSequences(core, limits); !wrong.empty()) return wrong;
  if (std::string wrong = CheckDrafts(core); !wrong.empty()) return wrong;
  if (limits.prompts == engine::PromptRule::kWhole) {
    if (cache.tree().node_count() > 0) return "what is computed of a whole text is in the tree";
    if (!core.running().empty()) return "a whole text does not end with its step";
  }
  return CheckPlan(core.scheduler_state(), core.budget(), core.plan());
}

std::string CheckAnswer(const Client& client, const RecordingSink& sink, int64_t context,
                        sampling::Sampler* sampler) {
  if (sink.overrun()) return "a sink got more events than it had room for";
  if (!sink.finished()) return "a request never ended";
  Transcript told(client.request);
  if (std::string wrong = Collect(sink, &told); !wrong.empty()) return wrong;
  if (std::string wrong = CheckChosen(client.request, told); !wrong.empty()) return wrong;
  if (std::string wrong = CheckPromptLogprobs(client.request, told, sampler); !wrong.empty())
    return wrong;
  const FinishReason end = told.end->reason;
  const bool cut = end == FinishReason::kCancelled || end == FinishReason::kDeadline ||
                   end == FinishReason::kError;
  const bool someone_cancels =
      client.reader.gone_at_event >= 0 || std::isfinite(client.cancelled_seconds);
  const bool searched = client.request.beam_search.beams > 0 && !cut;
  if (searched && told.sequences[0].reason != end) return "a request does not end as its best text";
  if (end == FinishReason::kCancelled && !someone_cancels) return "nobody cancelled the request";
  if (end == FinishReason::kError && client.fails_at_token < 0) return "a request failed";
  for (int32_t index = 0; index < client.request.sequence_count(); ++index) {
    const TranscriptSequence& sequence = told.sequences[static_cast<size_t>(index)];
    const Answer alone = RunAlone(client, index, context, sampler);
    const bool is_prefix =
        sequence.tokens.size() <= alone.tokens.size() &&
        std::equal(sequence.tokens.begin(), sequence.tokens.end(), alone.tokens.begin());
    if (!is_prefix) return "tokens differ from those of the request alone";
    if (!sequence.reason) return "a sequence has no end";
    if (cut && *sequence.reason == end) continue;
    if (sequence.tokens.size() < alone.tokens.size()) return "a text ends early";
    if (!alone.tokens.empty() && FailsBeforeEnd(client, alone)) return "a failure is passed over";
    if (told.embedding != alone.embedding) return "an embedding is not its prompt's";
    if (*sequence.reason != alone.reason) return "a text ends for a wrong reason";
    if (sequence.score != alone.score) return "a score is not that of its text";
  }
  return {};
}

}  // namespace skald::sim
