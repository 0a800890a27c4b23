#include "cli/traffic_run.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/stopwatch.h"
#include "skald/transcript.h"

namespace skald::cli {

namespace {

// How long to sleep before looking at the clock, Ctrl-C and the pages again.
constexpr std::chrono::milliseconds kTick(2);

// Rung by the engine thread when something happened that the runner waits for.
class Bell {
 public:
  void Ring() { condition_.notify_one(); }
  void WaitTick() {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait_for(lock, kTick);
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
};

// Keeps the times of one request. Written by the engine thread, read by the runner.
class Recorder : public EventSink {
 public:
  Recorder(const Request& request, Bell* bell)
      : bell_(bell), answer_(request, {.text = false, .logprobs = false, .seconds = true}) {
    const auto tokens = static_cast<size_t>(request.stop.max_tokens);
    answer_.sequences[0].tokens.reserve(tokens);
    answer_.sequences[0].seconds.reserve(tokens);
  }

  Listening Push(const Event& event) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    answer_.Add(event);
    if (answer_.end) bell_->Ring();
    return Listening::kGoOn;
  }
  bool HasRoom(int64_t /*events*/) const override { return true; }

  bool over() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return answer_.end.has_value();
  }
  int64_t token_count() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return answer_.output_tokens;
  }
  const Transcript& answer() const { return answer_; }  // once over

 private:
  Bell* bell_;
  mutable std::mutex mutex_;
  Transcript answer_;
};

TrafficRecord RecordOf(const Transcript& answer) {
  TrafficRecord record = {.prompt_tokens = answer.prompt_tokens,
                          .cached_tokens = answer.cached_tokens,
                          .cached_from = answer.cached_from,
                          .token_seconds = answer.best().seconds,
                          .tokens = answer.best().tokens,
                          .finished_seconds = answer.latest_seconds - answer.submitted_seconds,
                          .reason = answer.end->reason};
  for (double& seconds : record.token_seconds) seconds -= answer.submitted_seconds;
  return record;
}

// The requests under way, and what became of the others.
class Run {
 public:
  Run(Engine& engine, const TrafficGoOn& go_on) : engine_(engine), go_on_(go_on) {}
  // Nobody may ring the bell after it has gone, and who gives up leaves an engine that is seen to
  // be empty.
  ~Run() {
    for (const RequestId id : ids_) engine_.Cancel(id);
    while (UnderWay() > 0 || EngineWorks()) bell_.WaitTick();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  int64_t UnderWay() {
    while (first_open_ < recorders_.size() && recorders_[first_open_]->over()) ++first_open_;
    return std::count_if(recorders_.begin() + static_cast<int64_t>(first_open_), recorders_.end(),
                         [](const auto& recorder) { return !recorder->over(); });
  }

  // A refusal is counted, not an error: a trace may have requests longer than the context.
  void Submit(const TrafficRequest& request) {
    Request asked = {.prompt = request.prompt,
                     .sampling = {.temperature = 0},
                     .stop = {.max_tokens = request.output_tokens, .ignore_eos = true},
                     .cache_namespace = request.cache_namespace};
    auto recorder = std::make_shared<Recorder>(asked, &bell_);
    Result<RequestId> id = engine_.Submit(std::move(asked), recorder);
    if (!id.ok()) {
      ++outcome_.refused;
      return;
    }
    ids_.push_back(*id);
    recorders_.push_back(std::move(recorder));
  }

  Status WaitTick() {
    if (!go_on_()) return Status(ErrorCode::kCancelled, "interrupted");
    bell_.WaitTick();
    outcome_.most_pages_held = std::max(outcome_.most_pages_held, engine_.Stats().pages_held);
    return Ok();
  }

  const Recorder& recorder(size_t index) const { return *recorders_[index]; }
  size_t accepted() const { return recorders_.size(); }
  double seconds() const { return watch_.Seconds(); }

  // Once nothing is under way.
  Result<TrafficOutcome> Finish() {
    outcome_.seconds = watch_.Seconds();
    while (EngineWorks()) bell_.WaitTick();
    outcome_.stats = engine_.Stats();
    for (const auto& recorder : recorders_) {
      RETURN_IF_ERROR(recorder->answer().end->status);
      outcome_.records.push_back(RecordOf(recorder->answer()));
    }
    return std::move(outcome_);
  }

 private:
  // The statistics of a step come a moment after its events.
  bool EngineWorks() const {
    const EngineStats stats = engine_.Stats();
    return stats.running + stats.waiting > 0;
  }

  Engine& engine_;
  const TrafficGoOn& go_on_;
  Bell bell_;
  Stopwatch watch_;
  std::vector<RequestId> ids_;
  std::vector<std::shared_ptr<Recorder>> recorders_;
  size_t first_open_ = 0;  // all before are over
  TrafficOutcome outcome_;
};

}  // namespace

Result<TrafficOutcome> RunTraffic(Engine& engine, const std::vector<TrafficRequest>& requests,
                                  int64_t max_concurrency, const TrafficGoOn& go_on) {
  Run run(engine, go_on);
  size_t next = 0;
  while (next < requests.size() || run.UnderWay() > 0) {
    while (next < requests.size() && requests[next].arrival_seconds <= run.seconds() &&
           run.UnderWay() < max_concurrency) {
      run.Submit(requests[next]);
      ++next;
    }
    RETURN_IF_ERROR(run.WaitTick());
  }
  return run.Finish();
}

Result<IntruderOutcome> RunIntruder(Engine& engine, const std::vector<TrafficRequest>& requests,
                                    const TrafficGoOn& go_on) {
  IntruderOutcome outcome;
  ASSIGN_OR_RETURN(outcome.alone, RunTraffic(engine, {requests[0]}, 1, go_on));
  Run run(engine, go_on);
  run.Submit(requests[0]);
  const double started = run.seconds();
  while (run.accepted() == 1 && !run.recorder(0).over() &&
         run.recorder(0).token_count() < requests[0].output_tokens / 4) {
    RETURN_IF_ERROR(run.WaitTick());
  }
  const double arrived = run.seconds() - started;
  run.Submit(requests[1]);
  while (run.UnderWay() > 0) RETURN_IF_ERROR(run.WaitTick());
  ASSIGN_OR_RETURN(outcome.disturbed, run.Finish());
  if (outcome.alone.refused + outcome.disturbed.refused > 0) {
    return Status(ErrorCode::kInvalidArgument,
                  "the stream or the prompt is longer than the context");
  }
  const std::vector<TrafficRecord>& records = outcome.disturbed.records;
  const double first_token = arrived + records[1].token_seconds.at(0);
  outcome.gaps_during = GapsBetween(records[0], arrived, first_token);
  return outcome;
}

Result<AgentOutcome> RunAgent(Engine& engine, AgentConversation conversation,
                              const TrafficGoOn& go_on) {
  Run run(engine, go_on);
  NewTokens texts;
  std::vector<AgentRow> rows;
  std::vector<TrafficRequest> requests;
  int64_t turn = 1;
  for (auto asked = conversation.NextTurn(); !asked.empty(); asked = conversation.NextTurn()) {
    const size_t first = run.accepted();
    for (const AgentRequest& each : asked) {
      rows.push_back(
          {.turn = turn, .step = each.step, .new_tokens = texts.Count(each.request.prompt)});
      // At once: of the side questions only their own words are new. Answers do not count: what
      // comes back of them has lost its thinking, so it parts from what was computed at once.
      texts.Add(each.request.prompt);
      run.Submit(each.request);
      requests.push_back(each.request);
    }
    if (run.accepted() < rows.size())
      return Status(ErrorCode::kInvalidArgument, "the conversation is longer than the context");
    while (run.UnderWay() > 0) RETURN_IF_ERROR(run.WaitTick());
    conversation.TakeAnswer(run.recorder(first).answer().best().tokens);
    ++turn;
  }
  AgentOutcome outcome = {.traffic = {}, .rows = std::move(rows), .requests = std::move(requests)};
  ASSIGN_OR_RETURN(outcome.traffic, run.Finish());
  return outcome;
}

Result<AgentOutcome> RunRecorded(Engine& engine, std::vector<TrafficRequest> requests,
                                 int64_t max_concurrency, const TrafficGoOn& go_on) {
  AgentOutcome outcome;
  NewTokens texts;
  for (const TrafficRequest& request : requests) {
    outcome.rows.push_back({.turn = std::ssize(outcome.rows) + 1,
                            .step = AgentStep::kRecorded,
                            .new_tokens = texts.Count(request.prompt)});
    texts.Add(request.prompt);
  }
  ASSIGN_OR_RETURN(outcome.traffic, RunTraffic(engine, requests, max_concurrency, go_on));
  if (outcome.traffic.refused > 0)
    return Status(ErrorCode::kInvalidArgument, "a conversation is longer than the cache");
  outcome.requests = std::move(requests);
  return outcome;
}

Result<std::optional<size_t>> FirstThatDiffers(Engine& engine, const AgentOutcome& outcome,
                                               const TrafficGoOn& go_on) {
  std::vector<TrafficRequest> again = outcome.requests;
  for (size_t i = 0; i < again.size(); ++i) again[i].cache_namespace = i + 1;
  ASSIGN_OR_RETURN(const TrafficOutcome alone, RunTraffic(engine, again, 1, go_on));
  for (size_t i = 0; i < again.size(); ++i) {
    CHECK(alone.records[i].cached_tokens == 0);
    if (alone.records[i].tokens != outcome.traffic.records[i].tokens) return std::optional(i);
  }
  return std::optional<size_t>();
}

std::vector<double> GapsOf(const TrafficRecord& record) {
  std::vector<double> gaps;
  for (size_t i = 1; i < record.token_seconds.size(); ++i)
    gaps.push_back(record.token_seconds[i] - record.token_seconds[i - 1]);
  return gaps;
}

std::vector<double> GapsBetween(const TrafficRecord& record, double from, double to) {
  std::vector<double> gaps;
  for (size_t i = 1; i < record.token_seconds.size(); ++i) {
    const double begin = record.token_seconds[i - 1];
    const double end = record.token_seconds[i];
    if (end >= from && begin <= to) gaps.push_back(end - begin);
  }
  return gaps;
}

}  // namespace skald::cli
