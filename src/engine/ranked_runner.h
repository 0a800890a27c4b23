/// RankedRunner: a network that was split, its ranks threads of this process.
///
/// The calling thread is the first rank. A step is one loop over the ranks, in which they meet at
/// every exchange; between steps the others sleep.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/model_network.h"
#include "engine/runner.h"
#include "model/profile.h"
#include "model/step_tap.h"
#include "ranks/thread_ranks.h"

namespace skald::engine {

/// Each rank has pages, states and activations of its own; which pages, the caller says to all.
class RankedRunner : public Runner {
 public:
  /// Takes the memory of all ranks. The threads of the options are shared out among them, one each
  /// at least. `parts` are those of one network, by rank, and must outlive it. Errors: as of
  /// ModelNetwork.
  static Result<std::unique_ptr<RankedRunner>> Create(std::span<const model::Transformer> parts,
                                                      const ResolvedOptions& options);
  /// For Create.
  explicit RankedRunner(int count) : exchange_(count), threads_(count) {}

  void CopyPage(const kv::PageCopy& copy) override;
  int64_t PageBytes(kv::PageGroup group) const override;
  void SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) override;
  void LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) override;
  int64_t StateBytes() const override;
  void SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) override;
  void LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) override;
  void CopyState(const kv::StateCopy& copy) override;
  bool CommitNext(const FirstPlaces& wanted) override;
  void Forward(const model::StepBatch& batch) override;
  std::span<const float> Logits(int64_t index) const override { return first().Logits(index); }
  std::span<const float> Hidden(int64_t index) const override { return first().Hidden(index); }
  void TurnToLogits(int64_t first, int64_t count) override;
  /// The first rank has all of what it needs.
  float Score(std::span<const float> state) override { return ranks_.front()->Score(state); }

  EngineMemory memory() const override;
  uint64_t progress() const override;
  void Note(Others others) override;
  /// Times, and what a tap sees, are those of the first rank; heads of attention those of all.
  void SetProfile(model::StepProfile* profile) override;
  void TurnDepthToLogits(std::span<const float> rows) override;
  void Poison(kv::PageGroup group, kv::PageId page) override;
  void PoisonState(kv::StateId state) override;

 private:
  // Another rank than the first, while somebody wants to see its heads.
  struct Watch {
    std::vector<model::PartSeconds> parts = {};
    model::StepTap tap{{.attention = true}};
    model::StepProfile profile = {};
  };

  void WatchHeads();
  std::vector<int64_t> StateSizes() const;
  const ModelNetwork& first() const { return *ranks_.front(); }

  ranks::ThreadRanks exchange_;
  std::vector<std::unique_ptr<ModelNetwork>> ranks_;
  model::StepTap* heads_ = nullptr;              // who wants to see all heads
  std::vector<std::unique_ptr<Watch>> watches_;  // of the ranks behind the first, since then
  ThreadPool threads_;  // one a rank; last: they end before what they work with
};

}  // namespace skald::engine
