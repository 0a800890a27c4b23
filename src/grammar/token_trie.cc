#include "grammar/token_trie.h"

#include <algorithm>
#include <utility>

namespace skald::grammar {

namespace {

// A token with its first eight bytes as a number, which orders nearly all.
struct Sortable {
  uint64_t front;
  TokenText token;
};

uint64_t FrontOf(std::string_view bytes) {
  uint64_t front = 0;
  for (size_t i = 0; i < sizeof(front); ++i)
    front = front << 8 | (i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : uint8_t{0});
  return front;
}

// By bytes, then by ids. A mask of a leaf is made while somebody waits; sorting is much of that.
void Sort(std::vector<TokenText>* tokens) {
  std::vector<Sortable> all;
  all.reserve(tokens->size());
  for (const TokenText& token : *tokens) all.push_back({FrontOf(token.bytes), token});
  std::sort(all.begin(), all.end(), [](const Sortable& a, const Sortable& b) {
    if (a.front != b.front) return a.front < b.front;
    // A string_view compares as unsigned bytes.
    return std::pair(a.token.bytes, a.token.id) < std::pair(b.token.bytes, b.token.id);
  });
  for (size_t i = 0; i < all.size(); ++i) (*tokens)[i] = all[i].token;
}

}  // namespace

TokenTrie::TokenTrie(std::vector<TokenText> tokens) {
  Sort(&tokens);
  sorted_.reserve(tokens.size());
  for (const TokenText& token : tokens) sorted_.push_back(token.id);
  const auto count = static_cast<uint32_t>(tokens.size());
  AddNodes(tokens, {0, count}, 0);
  root_count_ = node_count();
  // Depth first, so that what a walk visits one after the other lies near each other. Nodes whose
  // children are to be made, the next one last.
  std::vector<std::pair<uint32_t, uint16_t>> open;  // with their depths
  const auto push = [&](Nodes nodes, size_t depth) {
    for (uint32_t node = nodes.end; node-- > nodes.begin;)
      open.emplace_back(node, static_cast<uint16_t>(depth));
  };
  push(roots(), 1);
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    const uint32_t begin = node_count();
    AddNodes(tokens, {nodes_[node].longer, nodes_[node].end}, depth);
    nodes_[node].below = begin;
    nodes_[node].below_end = node_count();
    push(Below(node), depth + size_t{1});
  }
  nodes_.shrink_to_fit();
  bytes_.shrink_to_fit();
}

// Nodes of the bytes that stand at `depth` in the tokens of `range`, which are longer and the same
// up to there.
void TokenTrie::AddNodes(const std::vector<TokenText>& tokens, Nodes range, size_t depth) {
  for (uint32_t first = range.begin; first < range.end;) {
    const char byte = tokens[first].bytes[depth];
    uint32_t longer = first;
    while (longer < range.end && tokens[longer].bytes.size() == depth + 1 &&
           tokens[longer].bytes[depth] == byte)
      ++longer;
    uint32_t end = longer;
    while (end < range.end && tokens[end].bytes[depth] == byte) ++end;
    nodes_.push_back({.first = first, .longer = longer, .end = end, .below = 0, .below_end = 0});
    bytes_.push_back(static_cast<uint8_t>(byte));
    first = end;
  }
}

}  // namespace skald::grammar
