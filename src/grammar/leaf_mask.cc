#include "grammar/leaf_mask.h"

#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace skald::grammar {

namespace {

// More than any leaf has that is written as a string of JSON. Identifiers, which may end anywhere,
// have ten times as many, and are walked.
constexpr size_t kLeavingMax = size_t{1} << 15;

class Maker {
 public:
  Maker(const TokenTable& tokens, const Leaf& leaf, uint32_t state)
      : tokens_(tokens), leaf_(leaf), states_{state} {
    made_.inside.resize(static_cast<size_t>(tokens.token_count() + 63) / 64);
  }

  LeafMask Make(bool is_plain) {
    for (const TokenSlice& slice : tokens_.slices()) {
      if (is_plain && !slice.mask.empty()) {
        for (size_t i = 0; i < slice.mask.size(); ++i) made_.inside[i] |= slice.mask[i];
      } else {
        Walk(slice.trie);
      }
      if (leaving_.size() > kLeavingMax) return LeafMask{.steps = made_.steps, .too_many = true};
    }
    made_.leaving = TokenTrie(std::move(leaving_));
    return std::move(made_);
  }

 private:
  void Walk(const TokenTrie& trie) {
    for (uint32_t i = 0; i < trie.node_count() && leaving_.size() <= kLeavingMax;) {
      const TokenTrie::Node& node = trie.node(i);
      states_.resize(node.depth);
      const uint32_t next = leaf_.Next(states_.back(), node.byte);
      ++made_.steps;
      if (next == Leaf::kDead) {
        Leave(trie.TokensBelow(i));
        i = node.end;
        continue;
      }
      states_.push_back(next);
      for (const TokenId token : trie.TokensAt(i))
        made_.inside[token >> 6] |= uint64_t{1} << (token & 63);
      ++i;
    }
  }

  // `tokens` die behind the bytes of `states_`. Where the leaf may end on the way they leave it.
  void Leave(std::span<const TokenId> tokens) {
    for (size_t depth = 1; depth < states_.size(); ++depth) {
      if (!leaf_.accepting[states_[depth]]) continue;
      for (const TokenId token : tokens)
        leaving_.push_back({tokens_.BytesOf(token).substr(depth), token});
      if (leaving_.size() > kLeavingMax) return;
    }
  }

  const TokenTable& tokens_;
  const Leaf& leaf_;
  std::vector<uint32_t> states_;  // [bytes read]
  std::vector<TokenText> leaving_;
  LeafMask made_;
};

}  // namespace

size_t LeafMask::bytes() const {
  return sizeof(LeafMask) + inside.size() * sizeof(uint64_t) + leaving.bytes();
}

LeafMask MakeLeafMask(const TokenTable& tokens, const Leaf& leaf, const LeafState& place) {
  return Maker(tokens, leaf, place.state).Make(place.is_plain);
}

std::shared_ptr<const LeafMask> LeafMasks::Get(const Form& form, const TokenTable& tokens,
                                               const LeafState& place) {
  const uint64_t key = uint64_t{place.rule} << 32 | place.state;
  {
    const std::lock_guard lock(mutex_);
    const auto found = made_.find(key);
    if (found != made_.end()) return found->second;
  }
  // Two threads may make the same one; both come to the same.
  auto mask = std::make_shared<const LeafMask>(
      MakeLeafMask(tokens, std::get<Leaf>(form.rules[place.rule]), place));
  const std::lock_guard lock(mutex_);
  const size_t bytes = mask->bytes();
  if (bytes_ + bytes <= kBytesMax && made_.emplace(key, mask).second) bytes_ += bytes;
  return mask;
}

size_t LeafMasks::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace skald::grammar
