/// WorkPool: a few threads for work that would keep the I/O thread from its connections: reading
/// and rendering bodies, making tokens, writing long answers.
///
/// Which piece is next WorkQueue says. Short and long pieces have threads of their own, so that no
/// short one waits for a long one; those of long ones give way to all other threads (GiveWay,
/// ShortTurns), to the I/O thread and the engine above all. A piece has so many seconds of
/// processor time, and somebody who waits for it (WorkLimit); it looks itself whether they are over
/// or gone. One that does not is seen from outside (OverdueSeconds).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/cpu_clock.h"
#include "base/short_turns.h"
#include "base/thread.h"
#include "server/work_queue.h"
#include "skald/stop_check.h"

namespace skald::server {

/// What a piece of work may still use. For the thread that runs it.
class WorkLimit {
 public:
  /// What a piece hangs on; all outlives it.
  struct Bonds {
    const std::atomic<bool>& stop;      ///< set when nobody wants any work any more
    const std::atomic<bool>& unwanted;  ///< or this piece
    ShortTurns* turns = nullptr;        ///< of a thread that gives way
  };

  /// From now on.
  WorkLimit(double cpu_seconds, const Bonds& bonds)
      : end_(clock_.Now() + cpu_seconds), bonds_(bonds) {}

  /// Whether to give up. Costs about 0.3 us; on a thread that gives way it is also where it rests.
  bool IsOver() const {
    if (bonds_.turns != nullptr) bonds_.turns->MayRest();
    return bonds_.stop || bonds_.unwanted || clock_.Now() > end_;
  }
  bool operator()() const { return IsOver(); }
  /// With half of what is left, for work that may fail while the rest goes on.
  WorkLimit Half() const { return WorkLimit((end_ - clock_.Now()) / 2, bonds_); }
  /// The same for work of other rooms.
  StopCheck stop_check() const { return StopCheck(*this); }

 private:
  CpuClock clock_;
  double end_;
  Bonds bonds_;
};

struct WorkPoolOptions {
  int short_threads = 2;
  int long_threads = 2;
  int64_t most_waiting = 8192;  ///< pieces, each of a connection
  double cpu_seconds = 10;      ///< of a piece
  /// How long a thread of long pieces rests between its turns while all processors are wanted.
  double rest_seconds = ShortTurns::kShortRest;
};

/// What the threads of a pool share. Defined by the pool.
struct WorkPoolState;

/// A piece of work that waits, runs or is over. Whoever destroys it takes it back, or, if it runs,
/// tells it that it is over.
class QueuedWork {
 public:
  QueuedWork() = default;
  QueuedWork(std::weak_ptr<WorkPoolState> pool, WorkQueue::Ticket ticket)
      : pool_(std::move(pool)), ticket_(ticket) {}
  ~QueuedWork() { TakeBack(); }
  QueuedWork(QueuedWork&& other) noexcept = default;
  QueuedWork& operator=(QueuedWork&& other) noexcept;

 private:
  void TakeBack();

  std::weak_ptr<WorkPoolState> pool_;
  WorkQueue::Ticket ticket_ = 0;
};

/// See above. Thread-safe.
class WorkPool {
 public:
  explicit WorkPool(const WorkPoolOptions& options);
  /// Drops what has not begun, tells what has that it is over, and waits for it.
  ~WorkPool();

  /// Queues a piece. Nothing if too many wait, of all or of this tenant.
  std::optional<QueuedWork> TryAdd(WorkPiece piece);
  /// Queues a piece, however many there are: the end of work that was let in.
  QueuedWork Add(WorkPiece piece);

  /// Processor time beyond its limit that a piece has used, of the one that has used most; 0 if
  /// all keep to it.
  double OverdueSeconds() const;
  /// Pieces that wait.
  int64_t waiting() const;

 private:
  QueuedWork Push(WorkPiece piece, std::unique_lock<std::mutex> lock);
  void Main(size_t number, WorkQueue::Lane lane);
  std::optional<WorkPiece> Next(WorkQueue::Lane lane, std::unique_lock<std::mutex>* lock);

  const std::shared_ptr<WorkPoolState> state_;
  const double cpu_seconds_;
  const double rest_seconds_;
  std::vector<std::unique_ptr<Thread>> threads_;  // last: they start when all else is there
};

}  // namespace skald::server
