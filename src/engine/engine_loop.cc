#include "engine/engine_loop.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/float_mode.h"

namespace skald::engine {
namespace {

// How soon a request whose reader was slow goes on after the reader has caught up, and how exactly
// deadlines hold while nothing computes.
constexpr std::chrono::milliseconds kPoll(5);

// How soon a sequence goes on whose mask has come, while nothing else computes.
constexpr std::chrono::microseconds kMaskPoll(500);

// How old the list of requests may be while steps go on: a person looks at it, and a step of a
// small model takes less time than to write a thousand lines of it.
constexpr double kRequestsSeconds = 0.02;
// And for each of them, of which the look itself takes some tenth of a microsecond.
constexpr double kSecondsOfRequest = 2e-5;

// A view so old that a step must be in the way of the next: what has come since is looked up.
constexpr double kRequestsAreOld = 0.2;

}  // namespace

EngineLoop::EngineLoop(Core* core, const Clock* clock, int64_t max_queued)
    : core_(*core), clock_(*clock), max_queued_(max_queued), stats_(core->Stats()) {
  thread_.emplace("engine", [this] { Main(); });
}

EngineLoop::~EngineLoop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  news_.notify_one();
  thread_.reset();
}

Result<RequestId> EngineLoop::Submit(Request request, std::shared_ptr<EventSink> sink) {
  const std::lock_guard lock(mutex_);
  const int64_t queued = stats_.requests_waiting + static_cast<int64_t>(arrivals_.size());
  if (queued >= max_queued_) {
    ++refused_;
    return Status(ErrorCode::kUnavailable, "the queue is full: " + std::to_string(queued) +
                                               " requests wait, at most " +
                                               std::to_string(max_queued_));
  }
  const RequestId id{next_id_++};
  arrivals_.push_back({.id = id,
                       .request = std::move(request),
                       .sink = std::move(sink),
                       .seconds = clock_.Seconds()});
  news_.notify_one();
  return id;
}

void EngineLoop::Cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  cancels_.push_back(id);
  news_.notify_one();
}

void EngineLoop::CountRefusal() {
  const std::lock_guard lock(mutex_);
  ++refused_;
}

EngineStats EngineLoop::Stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.refused = refused_;
  // They wait too, though the engine thread has not taken them yet.
  stats.waiting += static_cast<int64_t>(arrivals_.size());
  stats.requests_waiting += static_cast<int64_t>(arrivals_.size());
  return stats;
}

std::vector<RequestProgress> EngineLoop::Requests() const {
  const std::lock_guard lock(mutex_);
  std::vector<RequestProgress> requests = requests_;
  for (const Arrival& arrival : arrivals_) requests.push_back(ProgressOf(arrival));
  return requests;
}

// A step that has just begun is no long one yet: who came since is in the next view.
EngineLook EngineLoop::Look() {
  const double now = clock_.Seconds();
  EngineLook look = {.view = views_.Look(now), .seconds = now};
  news_.notify_one();  // an idle engine sleeps; if it misses this, the next look wakes it
  if (look.view == nullptr || now - look.view->seconds < kRequestsAreOld) return look;
  const std::lock_guard lock(mutex_);
  const size_t count = std::min(arrivals_.size(), static_cast<size_t>(kMostViewedWaiting));
  for (size_t i = 0; i < count; ++i) look.arrived.push_back(ProgressOf(arrivals_[i]));
  return look;
}

bool EngineLoop::HasNews() const { return stop_ || !arrivals_.empty() || !cancels_.empty(); }

void EngineLoop::LookAtCore() {
  stats_ = core_.Stats();
  const double now = clock_.Seconds();
  const double age = kRequestsSeconds + kSecondsOfRequest * static_cast<double>(requests_.size());
  if (!core_.idle() && now - requests_seconds_ < age) return;
  requests_seconds_ = now;
  core_.Progress(&requests_);
}

// Who runs, who waits and who has gone is known before the forward pass, and a long one must not
// hide it.
void EngineLoop::LookAtStep() {
  const std::lock_guard lock(mutex_);
  stats_ = core_.Stats();
  core_.ProgressOfStep(&requests_);
}

// Before the lock is taken, and before the step is computed.
void EngineLoop::ShowStep() {
  const double now = clock_.Seconds();
  if (!views_.IsDue(now, core_.idle() ? 0 : core_.ExpectedSeconds())) return;
  auto view = std::make_unique<EngineView>(core_.View());
  view->cost_seconds = views_.cost_seconds();
  views_.Post(std::move(view), clock_.Seconds() - now);
}

// Of an idle core. What it prepares goes piece by piece: who comes meanwhile waits for one of them.
void EngineLoop::AwaitNews(std::unique_lock<std::mutex>* lock) {
  const auto has_news = [&] { return HasNews() || views_.IsDue(clock_.Seconds(), 0); };
  bool has_more = true;
  while (has_more && !has_news()) {
    lock->unlock();
    has_more = core_.CommitNext();
    lock->lock();
  }
  news_.wait(*lock, has_news);
}

// Waits until there is something to do and takes what clients asked. False: the end.
bool EngineLoop::TakeNews() {
  std::unique_lock lock(mutex_);
  LookAtCore();
  const auto has_news = [this] { return HasNews(); };
  if (core_.idle()) {
    AwaitNews(&lock);
  } else if (!computing_) {
    const std::chrono::microseconds wait = core_.awaits_masks() ? kMaskPoll : kPoll;
    news_.wait_for(lock, wait, has_news);
  }
  std::swap(arrivals_, new_arrivals_);
  std::swap(cancels_, new_cancels_);
  // Until the core is looked at again, these count as queued.
  for (const Arrival& arrival : new_arrivals_) requests_.push_back(ProgressOf(arrival));
  stats_.waiting += static_cast<int64_t>(new_arrivals_.size());
  stats_.requests_waiting += static_cast<int64_t>(new_arrivals_.size());
  return !stop_;
}

void EngineLoop::Main() {
  bool going = true;
  while (going) {
    going = TakeNews();
    for (Arrival& arrival : new_arrivals_) core_.Submit(std::move(arrival));
    for (const RequestId id : new_cancels_) core_.Cancel(id);
    // Each round anew: sinks run code of clients on this thread.
    const FloatMode mode;
    new_arrivals_.clear();
    new_cancels_.clear();
    if (!going) break;
    core_.BeginStep();
    ShowStep();
    LookAtStep();
    computing_ = core_.FinishStep();
  }
  core_.CancelAll();
  core_.PutAll();
}

}  // namespace skald::engine
