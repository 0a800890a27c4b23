/// LoggedNetwork: a runner of which each forward pass is written down, for tools that explain them.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "engine/runner.h"
#include "model/step_log.h"

namespace skald::engine {

class LoggedNetwork : public Network {
 public:
  /// `runner` outlives it, and has no other profile.
  LoggedNetwork(Runner* runner, std::shared_ptr<model::StepLog> log)
      : runner_(runner), log_(std::move(log)) {}

  void CopyPage(const kv::PageCopy& copy) override { runner_->CopyPage(copy); }
  int64_t PageBytes(kv::PageGroup group) const override { return runner_->PageBytes(group); }
  void SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) override {
    runner_->SavePage(parts, bytes);
  }
  void LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) override {
    runner_->LoadPage(parts, bytes);
  }
  int64_t StateBytes() const override { return runner_->StateBytes(); }
  void SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) override {
    runner_->SaveState(state, begin, bytes);
  }
  void LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) override {
    runner_->LoadState(state, begin, bytes);
  }
  void CopyState(const kv::StateCopy& copy) override { runner_->CopyState(copy); }
  bool CommitNext(const FirstPlaces& wanted) override { return runner_->CommitNext(wanted); }
  void Forward(const model::StepBatch& batch) override {
    runner_->SetProfile(log_->Begin(batch));
    runner_->Forward(batch);
    runner_->SetProfile(nullptr);
    log_->End();
  }
  std::span<const float> Logits(int64_t index) const override { return runner_->Logits(index); }
  std::span<const float> Hidden(int64_t index) const override { return runner_->Hidden(index); }
  void TurnToLogits(int64_t first, int64_t count) override { runner_->TurnToLogits(first, count); }
  float Score(std::span<const float> state) override { return runner_->Score(state); }
  Status Lost() const override { return runner_->Lost(); }

 private:
  Runner* runner_;
  std::shared_ptr<model::StepLog> log_;
};

}  // namespace skald::engine
