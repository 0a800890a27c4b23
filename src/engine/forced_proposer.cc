#include "engine/forced_proposer.h"

#include <string>
#include <string_view>

#include "grammar/token_table.h"

namespace skald::engine {
namespace {

// Bytes looked at for each token wanted: longer tokens are rare in forced text.
constexpr size_t kBytesOfToken = 16;

// The longest token of the trie that `bytes` begin with; the lowest of equal ones.
TokenId LongestOf(const grammar::TokenTrie& trie, std::string_view bytes) {
  TokenId longest = kNoToken;
  grammar::TokenTrie::Nodes nodes = trie.roots();
  for (const char byte : bytes) {
    uint32_t node = nodes.begin;
    while (node < nodes.end && trie.byte(node) != static_cast<uint8_t>(byte)) ++node;
    if (node == nodes.end) break;
    if (!trie.TokensAt(node).empty()) longest = trie.TokensAt(node).front();
    nodes = trie.Below(node);
  }
  return longest;
}

// The same of all tokens.
TokenId LongestToken(const grammar::TokenTable& table, std::string_view bytes) {
  TokenId longest = kNoToken;
  for (const grammar::TokenSlice& slice : table.slices()) {
    const TokenId token = LongestOf(slice.trie, bytes);
    if (table.BytesOf(token).size() > table.BytesOf(longest).size()) longest = token;
  }
  return longest;
}

// Appends what spells `forced`, up to `most` tokens in all, and moves `state` behind it.
void Spell(std::string_view forced, const DraftWish& wish, grammar::ConstraintState* state) {
  const auto& table = wish.sequence->request->request.constraint->vocabulary().table();
  while (!forced.empty() && static_cast<int64_t>(wish.tokens->size()) < wish.most) {
    const TokenId token = LongestToken(table, forced);
    if (token == kNoToken || !state->Advance(token).ok()) return;
    wish.tokens->push_back(token);
    forced.remove_prefix(table.BytesOf(token).size());
  }
}

// Calls of tools are bytes between control tokens: each of both may be forced behind the other.
void Propose(const DraftWish& wish) {
  if (!wish.sequence->text) return;
  grammar::ConstraintState state = wish.sequence->text->state();
  size_t before = 0;
  do {
    before = wish.tokens->size();
    const size_t left = static_cast<size_t>(wish.most) - before;
    Spell(state.ForcedBytes(left * kBytesOfToken), wish, &state);
    if (static_cast<int64_t>(wish.tokens->size()) == wish.most) return;
    const TokenId token = state.ForcedToken();
    if (token != kNoToken && state.Advance(token).ok()) wish.tokens->push_back(token);
  } while (wish.tokens->size() > before);
}

}  // namespace

int64_t ForcedProposer::Propose(std::span<const DraftWish> wishes, int64_t) {
  for (const DraftWish& wish : wishes) engine::Propose(wish);
  return 0;
}

}  // namespace skald::engine
