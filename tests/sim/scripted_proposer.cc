#include "sim/scripted_proposer.h"

#include "sim/fake_network.h"

namespace skald::sim {

int64_t ScriptedProposer::Propose(std::span<const engine::DraftWish> wishes, int64_t) {
  for (const engine::DraftWish& wish : wishes) {
    const engine::Sequence& sequence = *wish.sequence;
    const auto request = static_cast<uint64_t>(sequence.request->id);
    auto [found, is_new] = answers_.try_emplace({request, sequence.index});
    if (is_new) {
      found->second =
          RunAlone(workload_.clients[request], sequence.index, workload_.core.context, &sampler_);
    }
    const std::vector<TokenId>& truth = found->second.tokens;
    const int64_t count = draw_.OneIn(4) ? draw_.Between(0, wish.most) : wish.most;
    for (int64_t i = 0; i < count; ++i) {
      const size_t at = sequence.output().size() + static_cast<size_t>(i);
      const TokenId right = at < truth.size() ? truth[at] : kEnd;
      const bool wrong = draw_.OneIn(wrong_one_in_);
      wish.tokens->push_back(wrong ? static_cast<TokenId>((right + 1) % kVocab) : right);
    }
  }
  return 0;
}

}  // namespace skald::sim
