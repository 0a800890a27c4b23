/// GroupRunner: a network that was split, its other ranks processes (ranks/group.h).
///
/// The calling thread is the first rank. What is asked of it, it tells the others first and then
/// does itself; at every exchange they meet. None of them samples: logits come to the first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_writer.h"
#include "engine/model_network.h"
#include "engine/rank_orders.h"
#include "engine/runner.h"
#include "ranks/group.h"
#include "skald/model.h"

namespace skald::engine {

/// Each rank has pages, states and activations of its own; which pages, the first says to all.
class GroupRunner : public Runner {
 public:
  /// Takes the memory of all ranks. The threads of the options are shared out among them, one each
  /// at least. `model` is the first rank's and outlives it. Errors: as of ModelNetwork, of any rank
  /// with its name; kUnavailable, the group is lost.
  static Result<std::unique_ptr<GroupRunner>> Create(const Model& model,
                                                     const ResolvedOptions& options);
  ~GroupRunner() override;

  void CopyPage(const kv::PageCopy& copy) override;
  int64_t PageBytes(kv::PageGroup group) const override;
  void SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) override;
  void LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) override;
  int64_t StateBytes() const override;
  void SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) override;
  void LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) override;
  void CopyState(const kv::StateCopy& copy) override;
  void Forward(const model::StepBatch& batch) override;
  std::span<const float> Logits(int64_t index) const override { return own_->Logits(index); }
  std::span<const float> Hidden(int64_t index) const override { return own_->Hidden(index); }
  void TurnToLogits(int64_t first, int64_t count) override;
  /// The first rank has all of what it needs.
  float Score(std::span<const float> state) override { return own_->Score(state); }
  Status Lost() const override { return group_->lost() ? group_->status() : Ok(); }

  EngineMemory memory() const override { return memory_; }
  /// Of the first rank, which waits for the others at every exchange.
  uint64_t progress() const override { return own_->progress(); }
  /// The first rank does. The threads of the others belong to other processes.
  void Note(Others others) override { own_->Note(others); }
  /// Of the first rank.
  void SetProfile(model::StepProfile* profile) override { own_->SetProfile(profile); }
  void TurnDepthToLogits(std::span<const float> rows) override;
  void Poison(kv::PageGroup group, kv::PageId page) override;
  void PoisonState(kv::StateId state) override;

 private:
  GroupRunner(std::shared_ptr<ranks::Group> group, std::unique_ptr<ModelNetwork> own);
  // What an order to this runner begins with.
  ByteWriter& Begin();
  Status MakeOthers(const ResolvedOptions& options);
  std::vector<int64_t> PageSizes(const kv::PageParts& parts) const;
  void Compare(int64_t rows);

  const std::shared_ptr<ranks::Group> group_;
  const std::unique_ptr<ModelNetwork> own_;
  const uint64_t number_;
  EngineMemory memory_;
  std::vector<int64_t> page_bytes_;         // of each rank
  std::vector<int64_t> window_page_bytes_;  // the same
  std::vector<int64_t> state_bytes_;        // the same
  ByteWriter order_;                        // with the turn of the group
  int64_t steps_ = 0;
};

}  // namespace skald::engine
