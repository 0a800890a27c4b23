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
  uint32_t node = 0;
  uint32_t end = trie.node_count();
  for (const char byte : bytes) {
    while (node < end && trie.node(node).byte != static_cast<uint8_t>(byte)) {
      node = trie.node(node).end;
    }
    if (node == end) break;
    if (!trie.TokensAt(node).empty()) longest = trie.TokensAt(node).front();
    // What begins with these bytes stands between this node and its end.
    end = trie.node(node).end;
    ++node;
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

void Propose(const DraftWish& wish) {
  const Sequence& sequence = *wish.sequence;
  if (!sequence.text) return;
  const auto most = static_cast<size_t>(wish.most);
  const std::string forced = sequence.text->state().ForcedBytes(most * kBytesOfToken);
  const auto& table = sequence.request->request.constraint->vocabulary().table();
  std::string_view left = forced;
  while (!left.empty() && wish.tokens->size() < most) {
    const TokenId token = LongestToken(table, left);
    if (token == kNoToken) return;
    wish.tokens->push_back(token);
    left.remove_prefix(table.BytesOf(token).size());
  }
}

}  // namespace

int64_t ForcedProposer::Propose(std::span<const DraftWish> wishes, int64_t) {
  for (const DraftWish& wish : wishes) engine::Propose(wish);
  return 0;
}

}  // namespace skald::engine
