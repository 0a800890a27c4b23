/// MaskThread: the MaskMaker of an engine, a thread that gives way to all others (GiveWay,
/// ShortTurns).
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/thread.h"
#include "engine/mask_maker.h"

namespace skald::engine {

class MaskThread : public MaskMaker {
 public:
  MaskThread();
  /// Drops what is not done.
  ~MaskThread() override;

  void Begin(std::shared_ptr<MaskJob> job) override;

 private:
  void Main();
  std::shared_ptr<MaskJob> Next();

  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // for everything below
  std::condition_variable news_;
  std::vector<std::shared_ptr<MaskJob>> jobs_;

  std::optional<Thread> thread_;  // last: starts when all else is there
};

}  // namespace skald::engine
