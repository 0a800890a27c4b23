#include "server/work_pool.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/heap.h"

namespace skald::server {

// Shared, because handles of work may outlive the pool: in events that nobody takes any more.
struct WorkPoolState {
  /// What a thread is at.
  struct Running {
    std::optional<CpuClock> clock;     // of the thread; not set before it has begun
    std::optional<double> until = {};  // by that clock; not set between pieces
  };

  WorkPoolState(int64_t most, size_t threads) : queue(most), running(threads) {}

  mutable std::mutex mutex;
  std::condition_variable news;
  WorkQueue queue;
  std::vector<Running> running;
  std::atomic<bool> stop{false};
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
}

WorkPool::WorkPool(const WorkPoolOptions& options)
    : state_(std::make_shared<WorkPoolState>(options.most_waiting,
                                             static_cast<size_t>(options.threads))),
      cpu_seconds_(options.cpu_seconds) {
  CHECK(options.threads >= 2);
  for (size_t number = 0; number < state_->running.size(); ++number)
    threads_.push_back(std::make_unique<Thread>("bodies", [this, number] { Main(number); }));
}

WorkPool::~WorkPool() {
  std::vector<WorkPiece> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    while (auto piece = state_->queue.Pop(WorkQueue::Lanes::kAll))
      dropped.push_back(*std::move(piece));
  }
  state_->news.notify_all();
  threads_.clear();
}

std::optional<QueuedWork> WorkPool::TryAdd(WorkPiece piece) {
  WorkQueue::Ticket ticket = 0;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->queue.HasRoom(piece.tenant)) return std::nullopt;
    ticket = state_->queue.Push(std::move(piece));
  }
  // All: whom it would wake alone may be the one that takes short pieces only.
  state_->news.notify_all();
  return QueuedWork(state_, ticket);
}

QueuedWork WorkPool::Add(WorkPiece piece) {
  WorkQueue::Ticket ticket = 0;
  {
    const std::lock_guard lock(state_->mutex);
    ticket = state_->queue.Push(std::move(piece));
  }
  state_->news.notify_all();
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

void WorkPool::Main(size_t number) {
  const CpuClock clock;
  const auto lanes = number == 0 ? WorkQueue::Lanes::kShort : WorkQueue::Lanes::kAll;
  WorkPoolState& state = *state_;
  WorkPoolState::Running& own = state.running[number];
  std::unique_lock lock(state.mutex);
  own.clock = clock;
  for (;;) {
    std::optional<WorkPiece> piece;
    state.news.wait(lock, [&] { return state.stop || (piece = state.queue.Pop(lanes)); });
    if (!piece) return;
    own.until = clock.Now() + cpu_seconds_;
    lock.unlock();
    piece->run(WorkLimit(cpu_seconds_, state.stop));
    const bool is_long = piece->cost_bytes > WorkQueue::kShortBytes;
    piece.reset();
    // Each thread has an arena of its own, and each would keep what its longest piece took.
    if (is_long) ReturnFreeMemory();
    lock.lock();
    own.until.reset();
  }
}

}  // namespace skald::server
