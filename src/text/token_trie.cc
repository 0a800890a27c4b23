#include "text/token_trie.h"

#include <algorithm>

namespace skald::text {

namespace {

// The entries that share the prefix of a node: a range of the sorted ones.
struct Range {
  size_t begin;
  size_t end;
  size_t depth;  // bytes of the prefix
};

}  // namespace

TokenTrie::TokenTrie(std::vector<Entry> entries) : nodes_(1), bytes_(1) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    const int order = a.bytes.compare(b.bytes);
    return order != 0 ? order < 0 : a.token < b.token;
  });
  std::vector<Range> ranges = {{0, entries.size(), 0}};  // of each node, in the order of nodes_
  for (size_t node = 0; node < ranges.size(); ++node) {
    auto [begin, end, depth] = ranges[node];
    if (begin < end && entries[begin].bytes.size() == depth) {
      nodes_[node].token = entries[begin].token;
      while (begin < end && entries[begin].bytes.size() == depth) ++begin;
    }
    nodes_[node].first_child = static_cast<uint32_t>(ranges.size());
    while (begin < end) {
      const char byte = entries[begin].bytes[depth];
      size_t next = begin;
      while (next < end && entries[next].bytes[depth] == byte) ++next;
      ranges.push_back({begin, next, depth + 1});
      nodes_.emplace_back();
      bytes_.push_back(static_cast<uint8_t>(byte));
      ++nodes_[node].child_count;
      begin = next;
    }
  }
}

TokenTrie::Node TokenTrie::Child(Node node, uint8_t byte) const {
  const auto begin = bytes_.begin() + nodes_[node].first_child;
  const auto end = begin + nodes_[node].child_count;
  const auto found = std::lower_bound(begin, end, byte);
  if (found == end || *found != byte) return kNone;
  return static_cast<Node>(found - bytes_.begin());
}

}  // namespace skald::text
