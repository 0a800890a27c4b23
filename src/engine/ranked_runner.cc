#include "engine/ranked_runner.h"

#include <atomic>
#include <utility>

#include "base/status_macros.h"
#include "engine/rank_parts.h"

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
int64_t RankedRunner::PageBytes(kv::PageGroup group) const {
  int64_t bytes = 0;
  for (const auto& rank : ranks_) bytes += rank->PageBytes(group);
  return bytes;
}

void RankedRunner::SavePage(const kv::PageParts& parts, std::span<std::byte> bytes) {
  for (const auto& rank : ranks_) {
    const auto length = static_cast<size_t>(rank->BytesOf(parts));
    rank->SavePage(parts, bytes.first(length));
    bytes = bytes.subspan(length);
  }
}

void RankedRunner::LoadPage(const kv::PageParts& parts, std::span<const std::byte> bytes) {
  for (const auto& rank : ranks_) {
    const auto length = static_cast<size_t>(rank->BytesOf(parts));
    rank->LoadPage(parts, bytes.first(length));
    bytes = bytes.subspan(length);
  }
}

int64_t RankedRunner::StateBytes() const {
  int64_t bytes = 0;
  for (const auto& rank : ranks_) bytes += rank->StateBytes();
  return bytes;
}

std::vector<int64_t> RankedRunner::StateSizes() const {
  std::vector<int64_t> sizes;
  for (const auto& rank : ranks_) sizes.push_back(rank->StateBytes());
  return sizes;
}

// As pages: those of the ranks, one behind the other.
void RankedRunner::SaveState(kv::StateId state, int64_t begin, std::span<std::byte> bytes) {
  ForEachPart(StateSizes(), begin, bytes,
              [&](size_t rank, int64_t from, std::span<std::byte> part) {
                ranks_[rank]->SaveState(state, from, part);
              });
}

void RankedRunner::LoadState(kv::StateId state, int64_t begin, std::span<const std::byte> bytes) {
  ForEachPart(StateSizes(), begin, bytes,
              [&](size_t rank, int64_t from, std::span<const std::byte> part) {
                ranks_[rank]->LoadState(state, from, part);
              });
}

void RankedRunner::CopyState(const kv::StateCopy& copy) {
  for (const auto& rank : ranks_) rank->CopyState(copy);
}

// In the threads that use it: so it lies beside their cores.
bool RankedRunner::CommitNext(const FirstPlaces& wanted) {
  std::atomic<bool> any = false;
  threads_.Run(std::ssize(ranks_), [&](int64_t rank, int) {
    if (ranks_[static_cast<size_t>(rank)]->CommitNext(wanted)) any = true;
  });
  return any;
}

void RankedRunner::Poison(kv::PageGroup group, kv::PageId page) {
  for (const auto& rank : ranks_) rank->Poison(group, page);
}

void RankedRunner::PoisonState(kv::StateId state) {
  for (const auto& rank : ranks_) rank->PoisonState(state);
}

// Each rank has heads of its own, and enters its parts at its own time: so each has a tap of its
// own, too.
void RankedRunner::WatchHeads() {
  for (size_t rank = 1; rank < ranks_.size(); ++rank) {
    auto watch = std::make_unique<Watch>();
    watch->profile.parts = &watch->parts;
    watch->profile.tap = &watch->tap;
    watches_.push_back(std::move(watch));
  }
}

void RankedRunner::Note(Others others) {
  for (const auto& rank : ranks_) rank->Note(others);
}

void RankedRunner::SetProfile(model::StepProfile* profile) {
  ranks_.front()->SetProfile(profile);
  heads_ = nullptr;
  if (profile != nullptr && profile->tap != nullptr && profile->tap->wishes().attention) {
    heads_ = profile->tap;
    if (watches_.empty()) WatchHeads();
  }
  for (size_t i = 0; i < watches_.size(); ++i) {
    ranks_[i + 1]->SetProfile(heads_ != nullptr ? &watches_[i]->profile : nullptr);
  }
}

// As many units as workers: each takes its own first, and none is done before all have begun, since
// they wait for each other. So no worker has two ranks.
void RankedRunner::Forward(const model::StepBatch& batch) {
  threads_.Run(std::ssize(ranks_),
               [&](int64_t rank, int) { ranks_[static_cast<size_t>(rank)]->Forward(batch); });
  if (heads_ == nullptr) return;
  for (const std::unique_ptr<Watch>& watch : watches_) {
    heads_->AddHeads(watch->tap.Take().attention);
  }
}

void RankedRunner::TurnToLogits(int64_t first, int64_t count) {
  threads_.Run(std::ssize(ranks_), [&](int64_t rank, int) {
    ranks_[static_cast<size_t>(rank)]->TurnToLogits(first, count);
  });
}

void RankedRunner::TurnDepthToLogits(std::span<const float> rows) {
  threads_.Run(std::ssize(ranks_), [&](int64_t rank, int) {
    ranks_[static_cast<size_t>(rank)]->TurnDepthToLogits(rows);
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
