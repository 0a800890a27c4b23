#include "grammar/token_trie.h"

#include <algorithm>
#include <utility>

namespace skald::grammar {

TokenTrie::TokenTrie(std::span<const std::string_view> token_bytes) {
  offsets_.push_back(0);
  for (size_t id = 0; id < token_bytes.size(); ++id) {
    const std::string_view bytes = token_bytes[id];
    if (bytes.size() <= kTokenBytesMax) bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    offsets_.push_back(bytes_.size());
    if (offsets_[id] != offsets_[id + 1]) sorted_.push_back(static_cast<TokenId>(id));
  }
  // string_view compares as unsigned bytes.
  std::sort(sorted_.begin(), sorted_.end(), [&](TokenId a, TokenId b) {
    return std::pair(BytesOf(a), a) < std::pair(BytesOf(b), b);
  });
  std::string_view before;
  for (uint32_t i = 0; i < sorted_.size(); ++i) {
    const std::string_view bytes = BytesOf(sorted_[i]);
    Insert(i, bytes, before);
    before = bytes;
  }
  Close(0);
  const auto count = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(
      {.end = count, .first = static_cast<uint32_t>(sorted_.size()), .depth = 0, .byte = 0});
  nodes_.shrink_to_fit();
}

void TokenTrie::Insert(uint32_t index, std::string_view bytes, std::string_view before) {
  size_t depth = 0;
  while (depth < before.size() && depth < bytes.size() && before[depth] == bytes[depth]) ++depth;
  if (depth == bytes.size()) return;  // one more token of the same bytes
  Close(depth);
  for (; depth < bytes.size(); ++depth) {
    open_.push_back(static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back({.end = 0,
                      .first = index,
                      .depth = static_cast<uint16_t>(depth + 1),
                      .byte = static_cast<uint8_t>(bytes[depth])});
  }
}

void TokenTrie::Close(size_t depth) {
  for (; open_.size() > depth; open_.pop_back())
    nodes_[open_.back()].end = static_cast<uint32_t>(nodes_.size());
}

std::string_view TokenTrie::BytesOf(TokenId token) const {
  if (token < 0 || token >= token_count()) return {};
  const auto index = static_cast<size_t>(token);
  return {bytes_.data() + offsets_[index], offsets_[index + 1] - offsets_[index]};
}

bool TokenTrie::HasByte(uint8_t byte) const {
  for (uint32_t node = 0; node < node_count(); node = nodes_[node].end)
    if (nodes_[node].byte == byte) return !TokensAt(node).empty();
  return false;
}

}  // namespace skald::grammar
