/// MaskMaker: makes masks beside the steps.
///
/// Most masks take microseconds and are made where a token is drawn. One of a text that may go on
/// in very many ways takes up to a tenth of a second, at every token, and a step is everybody's. So
/// a step has a millisecond for masks, and whose mask takes more than is left of it stays out of
/// the steps until it is there; its logits are kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "grammar/constraint_state.h"
#include "skald/status.h"

namespace skald::engine {

/// Steps of all masks (MaskBudget) that are made in a step of the engine: about 1 ms.
inline constexpr int64_t kMaskStepsInStep = 100'000;

/// Whose mask is made first: that of the tenant, and of its requests the one, for whom it has taken
/// the least time so far. So many costly ones keep no other tenant waiting for more than one.
struct MaskOrder {
  double tenant_seconds = 0;
  double request_seconds = 0;
  friend auto operator<=>(const MaskOrder&, const MaskOrder&) = default;
};

/// One mask. The maker has all of it but `is_dropped`, until it is done.
struct MaskJob {
  MaskJob(grammar::ConstraintState place, const MaskOrder& mask_order)
      : state(std::move(place)), order(mask_order) {}

  grammar::ConstraintState state;  ///< keeps the mask that was made
  MaskOrder order;
  Status status = Ok();  ///< as ConstraintState::MakeMask
  double seconds = 0;    ///< processor time that it took
  std::atomic<bool> is_done = false;
  std::atomic<bool> is_dropped = false;  ///< nobody wants it any more
};

/// What a sequence that waits for a mask has: taken away, nobody wants the mask any more.
class AwaitedMask {
 public:
  AwaitedMask(std::shared_ptr<MaskJob> job, std::vector<float> logits)
      : job_(std::move(job)), logits_(std::move(logits)) {}
  ~AwaitedMask() { job_->is_dropped = true; }
  AwaitedMask(const AwaitedMask&) = delete;
  AwaitedMask& operator=(const AwaitedMask&) = delete;

  bool is_done() const { return job_->is_done.load(std::memory_order_acquire); }
  /// Once it is done.
  const MaskJob& job() const { return *job_; }
  /// Of the row whose token is to be drawn.
  const std::vector<float>& logits() const { return logits_; }

 private:
  std::shared_ptr<MaskJob> job_;
  std::vector<float> logits_;
};

class MaskMaker {
 public:
  virtual ~MaskMaker() = default;
  /// Makes the mask some time, unless it is dropped. Does not wait for it.
  virtual void Begin(std::shared_ptr<MaskJob> job) = 0;
};

}  // namespace skald::engine
