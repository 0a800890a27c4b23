#include "engine/proposer.h"

#include <algorithm>

namespace skald::engine {

void ChainProposer::Propose(std::span<const DraftWish> wishes) {
  left_.assign(wishes.begin(), wishes.end());
  for (const auto& link : links_) {
    if (left_.empty()) return;
    link->Propose(left_);
    std::erase_if(left_, [](const DraftWish& wish) { return !wish.tokens->empty(); });
  }
}

void ChainProposer::Forget(const Sequence& sequence) {
  for (const auto& link : links_) link->Forget(sequence);
}

}  // namespace skald::engine
