// Sequences that wait for a mask (mask_maker.h): their last row is computed, its token is not
// drawn. So they have no row to compute, and no step waits for them.

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "engine/core.h"

namespace skald::engine {

void Core::AwaitMask(Sequence* sequence, std::span<const float> logits) {
  CHECK(masks_ != nullptr && sequence->text);
  const RequestState& request = *sequence->request;
  auto job = std::make_shared<MaskJob>(sequence->text->state(),
                                       MaskOrder{.tenant_seconds = request.tenant->mask_seconds,
                                                 .request_seconds = request.mask_seconds});
  sequence->awaited =
      std::make_unique<AwaitedMask>(job, std::vector<float>(logits.begin(), logits.end()));
  masks_->Begin(std::move(job));
  ++stats_.masks_awaited;
}

bool Core::awaits_masks() const {
  return std::any_of(running_.begin(), running_.end(), [](const Sequence* sequence) {
    return sequence->awaited && !sequence->request->paused();
  });
}

// Draws the tokens of those whose masks have come: they are in the step that begins. Not of one
// whose reader is slow.
void Core::TakeMasks() {
  arrived_.clear();
  for (Sequence* sequence : running_) {
    const bool has_come = sequence->awaited && sequence->awaited->is_done();
    if (has_come && !sequence->request->paused()) arrived_.push_back(sequence);
  }
  for (Sequence* sequence : arrived_) {
    // One of its siblings may have ended the request.
    if (sequence->running()) TakeMask(sequence);
  }
  RemoveFinished();
}

void Core::TakeMask(Sequence* sequence) {
  const std::unique_ptr<AwaitedMask> mask = std::move(sequence->awaited);
  RequestState* state = sequence->request;
  state->mask_seconds += mask->job().seconds;
  state->tenant->mask_seconds += mask->job().seconds;
  if (!mask->job().status.ok()) {
    return FinishRequest(state, FinishReason::kError, mask->job().status);
  }
  sequence->text->Take(mask->job().state);
  if (state->beams) return ApplyBeam(sequence, mask->logits());
  Draw(sequence, mask->logits());
}

}  // namespace skald::engine
