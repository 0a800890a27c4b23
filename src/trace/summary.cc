#include <algorithm>
#include <cmath>
#include <map>

#include "skald/trace_view.h"
#include "trace/overload.h"
#include "trace/shapes.h"

namespace skald {
namespace {

// A request whose end has not come.
struct Open {
  RequestSummary summary;
  double queued_seconds = 0;
  double tbt_sum = 0;
  int64_t tbt_count = 0;
  std::map<int32_t, double> last_token;  // by sequence

  void TakeToken(const TraceEvent& event) {
    ++summary.output_tokens;
    if (std::isnan(summary.ttft_seconds)) summary.ttft_seconds = event.seconds - queued_seconds;
    const auto [found, is_first] = last_token.try_emplace(event.sequence, event.seconds);
    if (is_first) return;
    const double gap = event.seconds - found->second;
    found->second = event.seconds;
    tbt_sum += gap;
    ++tbt_count;
    summary.max_tbt_seconds = std::fmax(summary.max_tbt_seconds, gap);  // not NaN if one is not
  }

  RequestSummary Now() const {
    RequestSummary now = summary;
    if (tbt_count > 0) now.mean_tbt_seconds = tbt_sum / static_cast<double>(tbt_count);
    return now;
  }
};

}  // namespace

struct TraceSummary::State {
  RunSummary run;
  std::map<uint64_t, Open> open;
  int64_t sequences = 0;  // of the open ones, with a token

  void Take(const TraceEvent& event);
  void TakeOfRequest(const TraceEvent& event, Open* request);
  void Finish(std::map<uint64_t, Open>::iterator request);
};

TraceSummary::TraceSummary() : state_(std::make_unique<State>()) {}
TraceSummary::~TraceSummary() = default;

Status TraceSummary::Add(const TraceRecord& record) {
  State& s = *state_;
  s.Take(record.event);
  if (std::ssize(s.open) + s.sequences <= kMostOpenInTrace) return Ok();
  return Status(ErrorCode::kInvalidArgument,
                "more than " + std::to_string(kMostOpenInTrace) + " requests are open");
}

void TraceSummary::State::Take(const TraceEvent& event) {
  run.seconds = std::max(run.seconds, event.seconds);
  std::visit(trace::Overload{[&](const TraceStep& step) {
                               run.steps += int64_t{step.rows > 0};
                               run.rows += step.rows;
                               run.prompt_rows += step.prompt_rows;
                               run.step_seconds += step.seconds;
                             },
                             [&](const TraceLost& lost) { run.lost_events += lost.count; },
                             [](const auto&) {}},
             event.body);
  if (event.request == 0) return;
  const auto [request, is_new] = open.try_emplace(event.request);
  if (is_new) {
    ++run.request_count;
    request->second.summary.request = event.request;
    request->second.queued_seconds = event.seconds;
  }
  const size_t before = request->second.last_token.size();
  TakeOfRequest(event, &request->second);
  sequences += std::ssize(request->second.last_token) - static_cast<int64_t>(before);
  if (request->second.summary.end) Finish(request);
}

void TraceSummary::State::TakeOfRequest(const TraceEvent& event, Open* request) {
  RequestSummary& summary = request->summary;
  std::visit(
      trace::Overload{[&](const TraceQueued& body) { summary.prompt_tokens = body.prompt_tokens; },
                      [&](const TraceAdmitted& body) {
                        summary.cached_tokens = body.cached;
                        summary.queue_seconds = event.seconds - request->queued_seconds;
                      },
                      [&](const TraceRows& body) {
                        // A prompt's last row may come as a stream's does: alone.
                        if (body.reason != RowReason::kDecode || body.first < summary.prompt_tokens)
                          summary.computed_tokens += body.count;
                      },
                      [&](const TraceToken&) {
                        ++run.output_tokens;
                        request->TakeToken(event);
                      },
                      [&](const TraceGuess& body) {
                        run.guesses += body.tokens;
                        run.kept_guesses += body.kept;
                      },
                      [&](const TracePreempted&) {
                        ++run.preemptions;
                        ++summary.preemptions;
                      },
                      [&](const TraceFinished& body) {
                        summary.end = body.reason;
                        summary.seconds = event.seconds - request->queued_seconds;
                      },
                      [](const auto&) {}},
      event.body);
}

void TraceSummary::State::Finish(std::map<uint64_t, Open>::iterator request) {
  if (run.requests.size() < kMostSummaries) run.requests.push_back(request->second.Now());
  sequences -= std::ssize(request->second.last_token);
  open.erase(request);
}

RunSummary TraceSummary::Summary() const {
  RunSummary run = state_->run;
  for (const auto& [id, request] : state_->open) {
    if (run.requests.size() < kMostSummaries) run.requests.push_back(request.Now());
  }
  std::sort(run.requests.begin(), run.requests.end(),
            [](const auto& a, const auto& b) { return a.request < b.request; });
  return run;
}

std::string_view TraceEndName(TraceEnd end) {
  return trace::Words<TraceEnd>::kWords[static_cast<size_t>(end)];
}

}  // namespace skald
