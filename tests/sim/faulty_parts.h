/// The engine's parts with a fault planted: each does what its base class does, but for one thing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/cache_manager.h"
#include "engine/forced_proposer.h"
#include "engine/scheduler.h"
#include "engine/token_chooser.h"
#include "sim/fault.h"
#include "sim/workload.h"

namespace skald::sim {

class FaultyCache : public engine::CacheManager {
 public:
  FaultyCache(const Workload& workload, Fault fault)
      : CacheManager(workload.page_count, workload.state_slots, SharingOf(workload),
                     WindowsOf(workload, fault)),
        fault_(fault) {}

  void Acquire(engine::Sequence* sequence) override;
  void Publish(engine::Sequence* sequence, int64_t count) override;
  void Release(engine::Sequence* sequence) override;
  std::unique_ptr<engine::Sequence> Fork(engine::Sequence* lead, int32_t index,
                                         int64_t context) override;
  void ForkInto(engine::Sequence* lead, engine::Sequence* fork) override;
  bool PrepareWrite(engine::Sequence* sequence, int64_t count,
                    std::vector<kv::PageCopy>* copies) override;
  std::optional<kv::StateCopy> PrepareState(engine::Sequence* sequence) override;
  bool RestoreWindow(kv::Namespace space, std::span<const TokenId> tokens,
                     FunctionRef<void(kv::PageId)> fill) override;
  bool RestoreState(kv::Namespace space, std::span<const TokenId> tokens,
                    FunctionRef<void(const kv::PageParts&)> fill_page,
                    FunctionRef<void(kv::StateId)> fill_state) override;

  /// Empty, or what was wrong with what it was asked so far.
  const std::string& wrong() const { return wrong_; }

 protected:
  void LeaveState(engine::Sequence* sequence, engine::Leaving leaving) override;

 private:
  static engine::Sharing SharingOf(const Workload& workload) {
    const bool whole = workload.core.prompts == engine::PromptRule::kWhole;
    return whole ? engine::Sharing::kNone : engine::Sharing::kPrefixes;
  }
  static kv::WindowLimits WindowsOf(const Workload& workload, Fault fault) {
    kv::WindowLimits windows = workload.windows;
    if (fault == Fault::kWindowTooShort && windows.positions > 1) --windows.positions;
    if (fault == Fault::kPinnedGivenBack) windows.pinned = 0;
    return windows;
  }
  void AcquireIn(kv::Namespace space, engine::Sequence* sequence);

  Fault fault_;
  std::string wrong_;
  std::vector<kv::StateSlot> kept_;
  std::map<const engine::Sequence*, kv::StateId> unguarded_;
};

/// It also fails where the workload says so, as for logits that are not numbers.
class FaultyChooser : public engine::TokenChooser {
 public:
  FaultyChooser(sampling::Sampler sampler, std::vector<TokenId> end_tokens,
                const Workload& workload, Fault fault)
      : TokenChooser(std::move(sampler), std::move(end_tokens), workload.core.context,
                     SpeculationRule::kExact, workload.masks),
        workload_(workload),
        fault_(fault) {}

  Result<engine::ChosenToken> Choose(const engine::Sequence& sequence,
                                     std::span<const float> logits) override;
  std::optional<FinishReason> EndOf(const engine::Sequence& sequence) const override;

 private:
  const Workload& workload_;
  Fault fault_;
  uint64_t chosen_ = 0;  // tokens chosen so far, of all sequences
};

/// It also compares each guess with what the letters say.
class FaultyForced : public engine::ForcedProposer {
 public:
  explicit FaultyForced(Fault fault) : fault_(fault) {}

  int64_t Propose(std::span<const engine::DraftWish> wishes, int64_t catch_up_rows) override;

  /// Empty, or what was wrong with a guess so far.
  const std::string& wrong() const { return wrong_; }

 private:
  void PlantIn(const engine::DraftWish& wish) const;

  Fault fault_;
  std::string wrong_;
};

class FaultyScheduler : public engine::Scheduler {
 public:
  explicit FaultyScheduler(Fault fault) : fault_(fault) {}

  void Plan(const engine::SchedulerState& state, const engine::Budget& budget,
            engine::StepPlan* plan) const override;
  int32_t Victim(const std::vector<engine::RunningView>& running) const override;

 private:
  engine::SchedulerState Mistaken(const engine::SchedulerState& state) const;

  Fault fault_;
};

}  // namespace skald::sim
