/// MaskThreads: the MaskMaker of an engine. One thread makes masks that take some milliseconds and
/// hands the others on to a second one, so that no short mask waits for a long one. Both give way
/// to all other threads (GiveWay, ShortTurns).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/thread.h"
#include "engine/mask_maker.h"

namespace skald::engine {

class MaskThreads : public MaskMaker {
 public:
  /// Steps of a short mask (MaskBudget): some 3 ms.
  static constexpr int64_t kShortSteps = 300'000;

  MaskThreads();
  /// Drops what is not done.
  ~MaskThreads() override;

  void Begin(std::shared_ptr<MaskJob> job) override;

 private:
  enum class Lane : uint8_t { kShort, kLong };
  struct Queue {
    std::vector<std::shared_ptr<MaskJob>> jobs;
    std::condition_variable news;
  };

  void Main(Lane lane);
  void Push(Lane lane, std::shared_ptr<MaskJob> job);
  std::shared_ptr<MaskJob> Next(Lane lane);
  Queue& QueueOf(Lane lane) { return queues_[static_cast<size_t>(lane)]; }

  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // for the queues
  std::array<Queue, 2> queues_;

  std::optional<Thread> short_thread_;  // last: they start when all else is there
  std::optional<Thread> long_thread_;
};

}  // namespace skald::engine
