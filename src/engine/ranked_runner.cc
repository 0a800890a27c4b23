#include "engine/ranked_runner.h"

#include <utility>

#include "base/status_macros.h"

namespace skald::engine {

Result<std::unique_ptr<RankedRunner>> RankedRunner::Create(
    std::span<const model::Transformer> parts, const ResolvedOptions& options) {
  const ResolvedOptions of_rank = OfRank(options, std::ssize(parts));
  auto runner = std::make_unique<RankedRunner>(static_cast<int>(parts.size()));
  for (const model::Transformer& part : parts) {
    const auto rank = static_cast<int>(runner->ranks_.size());
    ASSIGN_OR_RETURN(auto network,
                     ModelNetwork::Create(part, of_rank, nullptr, &runner->exchange_.end(rank)));
    runner->ranks_.push_back(std::move(network));
  }
  return runner;
}

void RankedRunner::CopyPage(const kv::PageCopy& copy) {
  for (const auto& rank : ranks_) rank->CopyPage(copy);
}

// The pages of the ranks, one behind the other.
int64_t RankedRunner::PageBytes() const {
  int64_t bytes = 0;
  for (const auto& rank : ranks_) bytes += rank->PageBytes();
  return bytes;
}

void RankedRunner::SavePage(kv::PageId page, std::span<std::byte> bytes) {
  for (const auto& rank : ranks_) {
    const auto length = static_cast<size_t>(rank->PageBytes());
    rank->SavePage(page, bytes.first(length));
    bytes = bytes.subspan(length);
  }
}

void RankedRunner::LoadPage(kv::PageId page, std::span<const std::byte> bytes) {
  for (const auto& rank : ranks_) {
    const auto length = static_cast<size_t>(rank->PageBytes());
    rank->LoadPage(page, bytes.first(length));
    bytes = bytes.subspan(length);
  }
}

void RankedRunner::CopyState(const kv::StateCopy& copy) {
  for (const auto& rank : ranks_) rank->CopyState(copy);
}

void RankedRunner::Poison(kv::PageGroup group, kv::PageId page) {
  for (const auto& rank : ranks_) rank->Poison(group, page);
}

void RankedRunner::PoisonState(kv::StateId state) {
  for (const auto& rank : ranks_) rank->PoisonState(state);
}

// As many units as workers: each takes its own first, and none is done before all have begun, since
// they wait for each other. So no worker has two ranks.
void RankedRunner::Forward(const model::StepBatch& batch) {
  threads_.Run(std::ssize(ranks_),
               [&](int64_t rank, int) { ranks_[static_cast<size_t>(rank)]->Forward(batch); });
}

void RankedRunner::TurnToLogits(int64_t first, int64_t count) {
  threads_.Run(std::ssize(ranks_), [&](int64_t rank, int) {
    ranks_[static_cast<size_t>(rank)]->TurnToLogits(first, count);
  });
}

EngineMemory RankedRunner::memory() const {
  EngineMemory memory;
  for (const auto& rank : ranks_) memory += rank->memory();
  return memory;
}

uint64_t RankedRunner::progress() const {
  uint64_t progress = 0;
  for (const auto& rank : ranks_) progress += rank->progress();
  return progress;
}

}  // namespace skald::engine
