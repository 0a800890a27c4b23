#include "grammar/token_trie.h"

#include <algorithm>
#include <utility>

namespace skald::grammar {

namespace {

size_t CommonBytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

}  // namespace

TokenTrie::TokenTrie(std::vector<TokenText> tokens) {
  // A string_view compares as unsigned bytes.
  std::sort(tokens.begin(), tokens.end(), [](const TokenText& a, const TokenText& b) {
    return std::pair(a.bytes, a.id) < std::pair(b.bytes, b.id);
  });
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
