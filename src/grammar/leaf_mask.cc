#include "grammar/leaf_mask.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace skald::grammar {

namespace {

// More than any leaf has that is written as a string of JSON. Identifiers, which may end anywhere,
// have ten times as many, and are walked.
constexpr size_t kLeavingMax = size_t{1} << 15;

void Set(std::span<const TokenId> tokens, LeafMask* mask) {
  for (const TokenId token : tokens) mask->inside[token >> 6] |= uint64_t{1} << (token & 63);
}

// What both makers do: `walk` looks at the tree of a slice.
template <typename Walk>
LeafMask MakeBySlices(const TokenTable& tokens, bool is_plain, LeafMask* made,
                      std::vector<TokenText>* leaving, const Walk& walk) {
  made->inside.resize(static_cast<size_t>(tokens.token_count() + 63) / 64);
  for (const TokenSlice& slice : tokens.slices()) {
    if (is_plain && !slice.mask.empty()) {
      for (size_t i = 0; i < slice.mask.size(); ++i) made->inside[i] |= slice.mask[i];
    } else {
      walk(slice.trie);
    }
    if (leaving->size() > kLeavingMax) return LeafMask{.steps = made->steps, .too_many = true};
  }
  made->leaving = TokenTrie(std::move(*leaving));
  return std::move(*made);
}

class Maker {
 public:
  Maker(const TokenTable& tokens, const Leaf& leaf, uint32_t state)
      : tokens_(tokens), leaf_(leaf), states_{state} {}

  LeafMask Make(bool is_plain) {
    return MakeBySlices(tokens_, is_plain, &made_, &leaving_,
                        [&](const TokenTrie& trie) { Walk(trie); });
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
      Set(trie.TokensAt(i), &made_);
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

class KeyMaker {
 public:
  KeyMaker(const TokenTable& tokens, const Object& object, uint32_t state)
      : tokens_(tokens), object_(object), states_{state} {}

  LeafMask Make(bool is_plain) {
    return MakeBySlices(tokens_, is_plain, &made_, &leaving_,
                        [&](const TokenTrie& trie) { Walk(trie); });
  }

 private:
  void Walk(const TokenTrie& trie) {
    for (uint32_t i = 0; i < trie.node_count() && leaving_.size() <= kLeavingMax;) {
      const TokenTrie::Node& node = trie.node(i);
      states_.resize(node.depth);
      const uint32_t next = object_.keys.Next(states_.back(), node.byte);
      ++made_.steps;
      if (!StaysInside(next, node.byte)) {
        Leave(next, node, trie.TokensBelow(i));
        i = node.end;
        continue;
      }
      states_.push_back(next);
      made_.longest = std::max(made_.longest, size_t{node.depth});
      Set(trie.TokensAt(i), &made_);
      ++i;
    }
  }

  bool StaysInside(uint32_t next, uint8_t byte) const {
    if (next == Leaf::kDead || object_.free_keys[next] != Object::kEndless) return false;
    return !MayEndBefore(byte);
  }

  // Whether a bare key may end at the last state and `byte` stand behind it.
  bool MayEndBefore(uint8_t byte) const {
    return object_.is_bare && object_.ends[states_.back()] != Object::kNoMember &&
           object_.behind_keys[byte];
  }

  // `tokens` do not stay inside behind the byte of `node`, which leads to `next`.
  void Leave(uint32_t next, const TokenTrie::Node& node, std::span<const TokenId> tokens) {
    if (next == Leaf::kDead && !MayEndBefore(node.byte)) return;
    // Behind the quotation mark that ends a key stands a colon.
    const bool is_end = !object_.is_bare && object_.ends[next] != Object::kNoMember;
    for (const TokenId token : tokens) {
      const std::string_view bytes = tokens_.BytesOf(token);
      if (is_end && bytes.size() > node.depth && bytes[node.depth] != ':') continue;
      leaving_.push_back({bytes, token});
    }
  }

  const TokenTable& tokens_;
  const Object& object_;
  std::vector<uint32_t> states_;  // of the keys, [bytes read]
  std::vector<TokenText> leaving_;
  LeafMask made_;
};

LeafMask MakeMask(const Form& form, const TokenTable& tokens, const LeafState& place) {
  const Rule& rule = form.rules[place.rule];
  if (const auto* leaf = std::get_if<Leaf>(&rule)) return MakeLeafMask(tokens, *leaf, place);
  return MakeKeyMask(tokens, std::get<Object>(rule), place);
}

}  // namespace

size_t LeafMask::bytes() const {
  return sizeof(LeafMask) + inside.size() * sizeof(uint64_t) + leaving.bytes();
}

LeafMask MakeLeafMask(const TokenTable& tokens, const Leaf& leaf, const LeafState& place) {
  return Maker(tokens, leaf, place.state).Make(place.is_plain);
}

LeafMask MakeKeyMask(const TokenTable& tokens, const Object& object, const LeafState& place) {
  return KeyMaker(tokens, object, place.state).Make(place.is_plain);
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
  auto mask = std::make_shared<const LeafMask>(MakeMask(form, tokens, place));
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
