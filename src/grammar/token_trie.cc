#include "grammar/token_trie.h"

#include <algorithm>
#include <utility>

namespace skald::grammar {

namespace {

size_t CommonBytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

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
  std::vector<uint32_t> open;  // the nodes on the way to the last token
  const auto close = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back())
      nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  std::string_view before;
  for (const TokenText& token : tokens) {
    const std::string_view bytes = token.bytes;
    size_t depth = CommonBytes(before, bytes);
    if (depth < bytes.size()) close(depth);
    if (depth == 0)
      roots_.push_back({.node = static_cast<uint32_t>(nodes_.size()),
                        .byte = static_cast<uint8_t>(bytes.front())});
    for (; depth < bytes.size(); ++depth) {
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.end = 0,
                        .first = static_cast<uint32_t>(sorted_.size()),
                        .depth = static_cast<uint16_t>(depth + 1),
                        .byte = static_cast<uint8_t>(bytes[depth])});
    }
    sorted_.push_back(token.id);
    before = bytes;
  }
  close(0);
  nodes_.push_back({.end = static_cast<uint32_t>(nodes_.size()),
                    .first = static_cast<uint32_t>(sorted_.size()),
                    .depth = 0,
                    .byte = 0});
  nodes_.shrink_to_fit();
}

}  // namespace skald::grammar
