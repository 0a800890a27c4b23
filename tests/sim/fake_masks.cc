#include "sim/fake_masks.h"

#include <utility>

namespace skald::sim {

void FakeMasks::Tick() {
  std::erase_if(jobs_, [](const auto& job) { return job->is_dropped.load(); });
  std::vector<std::shared_ptr<engine::MaskJob>> left;
  for (auto& job : jobs_) {
    if (draw_.OneIn(3))
      Make(job.get());
    else
      left.push_back(std::move(job));
  }
  jobs_ = std::move(left);
}

void FakeMasks::Make(engine::MaskJob* job) {
  // Somebody else's place.
  if (fault_ == Fault::kMaskOfOther && jobs_.back() && jobs_.back().get() != job)
    job->state = jobs_.back()->state;
  grammar::MaskBudget any;
  job->status = job->state.MakeMask(&any);
  job->seconds = draw_.Uniform() * 1e-2;
  job->is_done = true;
}

}  // namespace skald::sim
