#include "sim/trace_watch.h"

#include <algorithm>

namespace skald::sim {
namespace {

template <typename... Functions>
struct Overload : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overload(Functions...) -> Overload<Functions...>;

std::string Differ(const char* what, int64_t found, int64_t expected) {
  if (found == expected) return "";
  return std::string("the record of the run has ") + std::to_string(found) + " " + what +
         ", the engine " + std::to_string(expected);
}

// What a step can tell beside the prompts of requests that have come.
constexpr int64_t kEventsOfAStep = 1 << 12;

int64_t EventsOf(const Workload& workload) {
  int64_t events = kEventsOfAStep;
  for (const Client& client : workload.clients) {
    events +=
        std::ssize(client.request.prompt) / int64_t{decltype(TracePrompt::tokens)::room()} + 2;
  }
  return events;
}

// Records may come and be of no use.
bool IsSound(const TraceBrought& brought) {
  const bool has_records = brought.records > 0;
  return brought.to >= brought.from && (brought.to == brought.from || has_records) &&
         (brought.bytes > 0) == has_records && brought.seconds >= 0;
}

}  // namespace

TraceWatch::TraceWatch(const Workload& workload) : ring_({.capacity = EventsOf(workload)}) {}

std::string TraceWatch::Check(const engine::Core& core) {
  events_.clear();
  ring_.Take(&events_);
  if (ring_.lost_count() > 0) return "events are lost";
  for (const TraceEvent& event : events_) {
    if (event.seconds < last_seconds_) return "the record of the run goes back in time";
    last_seconds_ = event.seconds;
    Take(event);
    if (!wrong_.empty()) return wrong_;
  }
  return Compare(core);
}

void TraceWatch::Take(const TraceEvent& event) {
  const auto expect = [this](bool holds, const char* what) {
    if (!holds && wrong_.empty()) wrong_ = std::string("the record of the run: ") + what;
  };
  Seen& seen = sequences_[{event.request, event.sequence}];
  const auto begin = [&](const auto& body) {
    expect(!seen.runs, "a running sequence is admitted");
    expect(body.disk == TakeBrought(&seen, body.cached), "other tokens are of files than came");
    seen.runs = true;
  };
  std::visit(
      Overload{[&](const TraceQueued&) { ++stats_.submitted; },
               [&](const TraceBrought& body) {
                 expect(!seen.runs && IsSound(body), "of a prefix comes what cannot");
                 seen.brought = body;
               },
               [&](const TraceAdmitted& body) {
                 begin(body);
                 stats_.prompt_tokens += body.length;
                 stats_.prompt_tokens_cached += body.cached;
                 stats_.prompt_tokens_disk += body.disk;
               },
               [&](const TraceResumed& body) { begin(body); },
               [&](const TracePages& body) {
                 // A fork runs from when it has pages on.
                 if (body.act == PageAct::kShared) seen.runs = true;
                 TakePages(body);
               },
               [&](const TracePlan&) {
                 expect(!planned_, "a step begins before the last has ended");
                 planned_ = true;
               },
               [&](const TraceRows&) { expect(planned_, "rows without a plan"); },
               [&](const TraceGuess& body) {
                 stats_.draft_tokens += body.tokens;
                 stats_.draft_tokens_accepted += body.kept;
               },
               [&](const TraceToken& body) {
                 expect(body.index == seen.tokens, "a token is missing, or comes again");
                 const bool drawn = body.candidates == 0 || (body.p_drawn > 0 && body.p_drawn <= 1);
                 expect(drawn, "a token that could not be drawn");
                 expect(seen.runs || body.candidates == 0,
                        "a token of a sequence that does not run");
                 ++seen.tokens;
                 ++stats_.output_tokens;
               },
               [&](const TracePreempted& body) {
                 seen.runs = false;
                 ++stats_.preemptions;
                 stats_.displacements += int64_t{body.reason == PreemptReason::kDisplaced};
               },
               [&](const TraceFinished& body) {
                 ++stats_.finished[static_cast<size_t>(body.reason)];
                 std::erase_if(sequences_,
                               [&](const auto& each) { return each.first.first == event.request; });
               },
               [&](const TraceStep& body) {
                 expect(planned_, "a step without a plan");
                 planned_ = false;
                 stats_.rows += body.rows;
                 stats_.prefill_rows += body.prompt_rows;
                 stats_.steps += int64_t{body.rows > 0};
                 stats_.pages_free = body.pages_free;
                 stats_.pages_held = body.pages_held;
                 stats_.pages_cached = body.pages_cached;
               },
               [](const auto&) {}},
      event.body);
}

// So many of its `cached` tokens have come from files since it ran last.
int64_t TraceWatch::TakeBrought(Seen* seen, int64_t cached) {
  const TraceBrought brought = std::exchange(seen->brought, {});
  return std::max<int64_t>(std::min(brought.to, cached) - brought.from, 0);
}

void TraceWatch::TakePages(const TracePages& pages) {
  if (pages.act == PageAct::kEvicted) stats_.pages_evicted += pages.count;
  if (pages.act == PageAct::kCopied) stats_.pages_copied += pages.count;
  if (pages.act != PageAct::kEvicted && pages.count != pages.ids.count) {
    wrong_ = "the record of the run counts other pages than it names";
  }
}

std::string TraceWatch::Compare(const engine::Core& core) const {
  const EngineStats stats = core.Stats();
  const std::array<std::string, 15> differences = {
      Differ("requests", stats_.submitted, stats.submitted),
      Differ("prompt tokens", stats_.prompt_tokens, stats.prompt_tokens),
      Differ("cached tokens", stats_.prompt_tokens_cached, stats.prompt_tokens_cached),
      Differ("tokens from files", stats_.prompt_tokens_disk, stats.prompt_tokens_disk),
      Differ("rows", stats_.rows, stats.rows),
      Differ("rows of prompts", stats_.prefill_rows, stats.prefill_rows),
      Differ("tokens", stats_.output_tokens, stats.output_tokens),
      Differ("steps", stats_.steps, stats.steps),
      Differ("guesses", stats_.draft_tokens, stats.draft_tokens),
      Differ("kept guesses", stats_.draft_tokens_accepted, stats.draft_tokens_accepted),
      Differ("preemptions", stats_.preemptions, stats.preemptions),
      Differ("copied pages", stats_.pages_copied, stats.pages_copied),
      Differ("evicted pages", stats_.pages_evicted, stats.pages_evicted),
      Differ("cancelled requests", stats_.finished[3], stats.finished[3]),
      Differ("requests stopped", stats_.finished[0], stats.finished[0])};
  for (const std::string& difference : differences) {
    if (!difference.empty()) return difference;
  }
  return planned_ ? "the record of the run has a step without an end" : "";
}

}  // namespace skald::sim
