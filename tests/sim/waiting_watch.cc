#include "sim/waiting_watch.h"

#include <algorithm>

#include "sim/plan_invariants.h"

namespace skald::sim {
namespace {

using engine::Sequence;

std::pair<uint64_t, int32_t> NameOf(const Sequence& sequence) {
  return {static_cast<uint64_t>(sequence.request->id), sequence.index};
}

// A step in two has rows for prompts.
constexpr int64_t kStepsOfATurn = 2;

}  // namespace

void WaitingWatch::Begin(const engine::Core& core) {
  computed_.clear();
  for (const Sequence* sequence : core.running()) {
    // Beams wait for each other.
    const bool may = !sequence->request->beams && !sequence->request->paused();
    if (may && sequence->remaining() > 1) computed_[NameOf(*sequence)] = sequence->computed;
  }
}

std::string WaitingWatch::Count(const Name& name, int64_t most, const char* what) {
  Wait& wait = waits_[name];
  if (wait.steps == 0) wait.most = most;
  wait.seen = true;
  if (++wait.steps <= wait.most) return {};
  return std::string(what) + " for " + std::to_string(wait.steps) + " steps: request " +
         std::to_string(name.first);
}

std::string WaitingWatch::End(const engine::Core& core) {
  std::string wrong;
  // Of R prompts each has a row in 2 R turns.
  for (const Sequence* sequence : core.running()) {
    const auto before = computed_.find(NameOf(*sequence));
    if (before == computed_.end() || before->second != sequence->computed) continue;
    const int64_t most = kStepsOfATurn * (2 * limits_.max_running + 1);
    if (wrong.empty()) wrong = Count(before->first, most, "a running prompt gets no row");
  }
  // Who fits is admitted in 2 (Q + 1) turns.
  for (size_t i = 0; i < core.candidates().size(); ++i) {
    const Sequence* sequence = core.candidates()[i];
    const auto& waiting = core.waiting();
    // Its request may have ended in the step.
    if (std::find(waiting.begin(), waiting.end(), sequence) == waiting.end()) continue;
    if (!CouldHaveBeenAdmitted(core.scheduler_state(), core.budget(), core.plan(), i)) continue;
    const int64_t most = kStepsOfATurn * (2 * (static_cast<int64_t>(waiting.size()) + 1) + 1);
    if (wrong.empty()) wrong = Count(NameOf(*sequence), most, "one that fits is not admitted");
  }
  std::erase_if(waits_, [](const auto& each) { return !each.second.seen; });
  for (auto& each : waits_) each.second.seen = false;
  return wrong;
}

}  // namespace skald::sim
