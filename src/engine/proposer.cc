#include "engine/proposer.h"

#include <algorithm>

namespace skald::engine {

int64_t ChainProposer::Propose(std::span<const DraftWish> wishes, int64_t catch_up_rows) {
  left_.assign(wishes.begin(), wishes.end());
  int64_t caught_up = 0;
  for (const auto& link : links_) {
    if (left_.empty()) break;
    caught_up += link->Propose(left_, catch_up_rows - caught_up);
    std::erase_if(left_, [](const DraftWish& wish) { return !wish.tokens->empty(); });
  }
  return caught_up;
}

void ChainProposer::Forget(const Sequence& sequence) {
  for (const auto& link : links_) link->Forget(sequence);
}

}  // namespace skald::engine
