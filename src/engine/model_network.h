/// ModelNetwork: the Runner of one transformer, with everything a forward pass works with.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "engine/options.h"
#include "engine/runner.h"
#include "kernels/kernels.h"
#include "kv/kv_store.h"
#include "kv/state_store.h"
#include "model/transformer.h"

namespace skald::engine {

class ModelNetwork : public Runner {
 public:
  /// Takes all memory a step can need. `network` must outlive it. Computes with `threads`, which
  /// two networks may share that compute in turn; null: with options.threads of its own. Of a
  /// network that was split, with the other ranks by `exchange`. Errors: kResourceExhausted with
  /// the number of bytes.
  static Result<std::unique_ptr<ModelNetwork>> Create(const model::Transformer& network,
                                                      const ResolvedOptions& options,
                                                      std::shared_ptr<ThreadPool> threads = nullptr,
                                                      ranks::Exchange* exchange = nullptr);
  /// What Create has made: laid out for `network` and the options.
  struct Parts {
    kv::KvStore store;
    kv::StateStore states;
    model::Workspace workspace;
    std::shared_ptr<ThreadPool> threads;
    ranks::Exchange* exchange;
  };
  /// For Create.
  ModelNetwork(const model::Transformer& network, const ResolvedOptions& options, Parts parts);

  void CopyPage(const kv::PageCopy& copy) override { store_.CopyPage(copy); }
  int64_t PageBytes(kv::PageGroup group) const override {
    return store_.layout().page_bytes(group);
  }
  void SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) override {
    store_.SavePage(parts, bytes);
  }
  void LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) override {
    store_.LoadPage(parts, bytes);
  }
  int64_t StateBytes() const override { return states_.slot_bytes(); }
  void SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) override {
    states_.Save(state, begin, bytes);
  }
  void LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) override {
    states_.Load(state, begin, bytes);
  }
  void CopyState(const kv::StateCopy& copy) override { states_.Copy(copy); }
  bool CommitNext(const FirstPlaces& wanted) override {
    return store_.CommitNext(wanted.pages) || states_.CommitNext(wanted.states);
  }
  void Forward(const model::StepBatch& batch) override;
  std::span<const float> Logits(int64_t index) const override;
  std::span<const float> Hidden(int64_t index) const override;
  void TurnToLogits(int64_t first, int64_t count) override;
  float Score(std::span<const float> state) override;

  EngineMemory memory() const override;
  uint64_t progress() const override { return pool_->progress(); }
  void Note(Others others) override { pool_->Note(others); }
  void SetProfile(model::StepProfile* profile) override { profile_ = profile; }

  void TurnDepthToLogits(std::span<const float> rows) override;

  /// SHA-256, 32 bytes, of the first `rows` rows of the residual stream as the last Forward left
  /// it: the same in all ranks.
  std::string HashResidual(int64_t rows) const;

  void Poison(kv::PageGroup group, kv::PageId page) override { store_.Poison(group, page); }
  void PoisonState(kv::StateId state) override { states_.Poison(state); }

 private:
  model::Context ContextOf(const model::Execution& execution);

  const model::Transformer& network_;
  kernels::KernelTable kernels_;
  std::shared_ptr<ThreadPool> pool_;
  std::vector<model::RopeTable> ropes_;
  kv::KvStore store_;
  kv::StateStore states_;
  model::Workspace workspace_;
  ranks::Exchange* const exchange_;
  model::StepProfile* profile_ = nullptr;
};

}  // namespace skald::engine
