#include "server/work_pool.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/heap.h"
#include "base/stopwatch.h"

namespace skald::server {
namespace {

// Between two times that memory is given back: each holds the heaps of all threads for some ms.
constexpr double kReturnSeconds = 1;

}  // namespace

// Shared, because handles of work may outlive the pool: in events that nobody takes any more.
struct WorkPoolState {
  /// What a thread is at.
  struct Running {
    std::optional<CpuClock> clock;     // of the thread; not set before it has begun
    std::optional<double> until = {};  // by that clock; not set between pieces
    WorkQueue::Ticket ticket = 0;      // of the piece, while `until` is set
    std::atomic<bool> unwanted{false};
  };

  WorkPoolState(int64_t most, size_t threads) : queue(most), running(threads) {}

  /// Of threads that wait for pieces of a lane: a piece wakes one that may take it, and no other
  /// one, which would take a processor from a step to find nothing.
  std::condition_variable& NewsOf(WorkQueue::Lane lane) {
    return lane == WorkQueue::Lane::kShort ? short_news : long_news;
  }

  mutable std::mutex mutex;
  std::condition_variable short_news;
  std::condition_variable long_news;
  std::condition_variable begun;  // a thread has its priority
  WorkQueue queue;
  std::vector<Running> running;
  std::atomic<bool> stop{false};
  bool has_freed = false;  // a long piece has ended since memory was given back
  Stopwatch since_return;
};

QueuedWork& QueuedWork::operator=(QueuedWork&& other) noexcept {
  TakeBack();
  pool_ = std::move(other.pool_);
  ticket_ = other.ticket_;
  return *this;
}

void QueuedWork::TakeBack() {
  const std::shared_ptr<WorkPoolState> pool = std::exchange(pool_, {}).lock();
  if (!pool) return;
  // Destroyed outside the lock: what a piece holds may hold other work.
  std::optional<WorkPiece> piece;
  const std::lock_guard lock(pool->mutex);
  piece = pool->queue.Remove(ticket_);
  if (piece) return;
  for (WorkPoolState::Running& running : pool->running) {
    if (running.until && running.ticket == ticket_) running.unwanted = true;
  }
}

WorkPool::WorkPool(const WorkPoolOptions& options)
    : state_(std::make_shared<WorkPoolState>(
          options.most_waiting, static_cast<size_t>(options.short_threads + options.long_threads))),
      cpu_seconds_(options.cpu_seconds),
      rest_seconds_(options.rest_seconds) {
  CHECK(options.short_threads >= 1 && options.long_threads >= 1);
  const auto short_threads = static_cast<size_t>(options.short_threads);
  for (size_t number = 0; number < state_->running.size(); ++number) {
    const bool is_short = number < short_threads;
    threads_.push_back(std::make_unique<Thread>(
        is_short ? "short bodies" : "long bodies",
        [=, this] { Main(number, is_short ? WorkQueue::Lane::kShort : WorkQueue::Lane::kLong); }));
  }
  // Until each has its priority: a sandbox that is put on afterwards does not let it change that.
  std::unique_lock lock(state_->mutex);
  state_->begun.wait(lock, [&] {
    return std::all_of(
        state_->running.begin(), state_->running.end(),
        [](const WorkPoolState::Running& running) { return running.clock.has_value(); });
  });
}

WorkPool::~WorkPool() {
  std::vector<WorkPiece> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    for (const auto lane : {WorkQueue::Lane::kShort, WorkQueue::Lane::kLong}) {
      while (auto piece = state_->queue.Pop(lane)) dropped.push_back(*std::move(piece));
    }
  }
  state_->short_news.notify_all();
  state_->long_news.notify_all();
  threads_.clear();
}

std::optional<QueuedWork> WorkPool::TryAdd(WorkPiece piece) {
  std::unique_lock lock(state_->mutex);
  if (!state_->queue.HasRoom(piece.tenant)) return std::nullopt;
  return Push(std::move(piece), std::move(lock));
}

QueuedWork WorkPool::Add(WorkPiece piece) {
  return Push(std::move(piece), std::unique_lock(state_->mutex));
}

QueuedWork WorkPool::Push(WorkPiece piece, std::unique_lock<std::mutex> lock) {
  const WorkQueue::Lane lane = WorkQueue::LaneOf(piece);
  const WorkQueue::Ticket ticket = state_->queue.Push(std::move(piece));
  lock.unlock();  // who is woken needs it
  state_->NewsOf(lane).notify_one();
  return {state_, ticket};
}

double WorkPool::OverdueSeconds() const {
  const std::lock_guard lock(state_->mutex);
  double most = 0;
  for (const WorkPoolState::Running& running : state_->running) {
    if (running.until) most = std::max(most, running.clock->Now() - *running.until);
  }
  return most;
}

int64_t WorkPool::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->queue.size();
}

void WorkPool::Main(size_t number, WorkQueue::Lane lane) {
  const bool is_long = lane == WorkQueue::Lane::kLong;
  std::optional<ShortTurns> turns;
  if (is_long) {
    GiveWay();
    turns.emplace(rest_seconds_);
  }
  const CpuClock clock;
  WorkPoolState& state = *state_;
  WorkPoolState::Running& own = state.running[number];
  std::unique_lock lock(state.mutex);
  own.clock = clock;
  state.begun.notify_one();
  for (;;) {
    std::optional<WorkPiece> piece = Next(lane, &lock);
    if (!piece) return;
    own.until = clock.Now() + cpu_seconds_;
    own.ticket = piece->ticket;
    own.unwanted = false;
    lock.unlock();
    piece->run(WorkLimit(
        cpu_seconds_,
        {.stop = state.stop, .unwanted = own.unwanted, .turns = turns ? &*turns : nullptr}));
    piece.reset();
    lock.lock();
    own.until.reset();
    if (is_long) {
      state.has_freed = true;
      state.short_news.notify_one();
    }
  }
}

// Each thread has an arena of its own, and each would keep what its longest piece took. A thread of
// short pieces gives that back when it has nothing else to do. One of long pieces must not: it
// gives way, and would do so while it holds the heap of the engine, which then waits with it.
std::optional<WorkPiece> WorkPool::Next(WorkQueue::Lane lane, std::unique_lock<std::mutex>* lock) {
  WorkPoolState& state = *state_;
  while (!state.stop) {
    if (auto piece = state.queue.Pop(lane)) return piece;
    if (lane == WorkQueue::Lane::kLong || !state.has_freed) {
      state.NewsOf(lane).wait(*lock);
      continue;
    }
    const double left = kReturnSeconds - state.since_return.Seconds();
    if (left > 0) {
      state.short_news.wait_for(*lock, std::chrono::duration<double>(left));
      continue;
    }
    state.has_freed = false;
    state.since_return = Stopwatch();
    lock->unlock();
    ReturnFreeMemory();
    lock->lock();
  }
  return std::nullopt;
}

}  // namespace skald::server
