/// Runner: a network that runs, with its memory. What an engine, a benchmark and whoever wants
/// logits alone have of a model, made in one place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/thread_pool.h"
#include "engine/network.h"
#include "engine/options.h"
#include "kv/kv_layout.h"
#include "model/profile.h"
#include "skald/engine_plan.h"
#include "skald/model.h"

namespace skald::engine {

/// One thread at a time, but for progress.
class Runner : public Network {
 public:
  /// What it has taken; without the weights, which are not its own.
  virtual EngineMemory memory() const = 0;
  /// Changes while something is computed (ThreadPool::progress). Any thread.
  virtual uint64_t progress() const = 0;
  /// Whether those that compute here let others pass (ThreadPool::Note). Any thread.
  virtual void Note(Others others) = 0;
  /// From now on Forward adds to `profile` where its time goes; nullptr: it measures nothing.
  virtual void SetProfile(model::StepProfile* profile) = 0;
  /// The logits of rows that were tapped behind layers (model::Transformer::TurnDepthToLogits):
  /// Logits gives these from now on, as many rows at most as `options` let a step have logits.
  virtual void TurnDepthToLogits(std::span<const float> rows) = 0;
  /// Fills a page, or a state slot, with NaN. For tests: a read of what was freed shows at once.
  virtual void Poison(kv::PageGroup group, kv::PageId page) = 0;
  virtual void PoisonState(kv::StateId state) = 0;
};

/// Takes all memory that a step of these options can need. `model` must outlive it. Computes with
/// `threads`, which two runners may share that compute in turn; null: with options.threads of its
/// own, as the ranks of a model that was split always do. Errors: kResourceExhausted with the
/// number of bytes.
Result<std::unique_ptr<Runner>> MakeRunner(const Model& model, const ResolvedOptions& options,
                                           std::shared_ptr<ThreadPool> threads = nullptr);

}  // namespace skald::engine
