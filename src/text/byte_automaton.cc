#include "text/byte_automaton.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace skald::text {

ByteAutomaton::ByteAutomaton() : ByteAutomaton(std::span<const std::string_view>()) {}

ByteAutomaton::ByteAutomaton(std::span<const std::string_view> patterns)
    : shorter_(patterns.size(), kNoPattern) {
  lengths_.reserve(patterns.size());
  size_t bytes = 0;
  for (const std::string_view pattern : patterns) {
    lengths_.push_back(static_cast<int32_t>(pattern.size()));
    bytes += pattern.size();
  }
  // As many nodes as bytes at most. Growing by doubling would hold three times as much for a while;
  // what is not needed of this is never touched.
  nodes_.reserve(bytes + 2);
  bytes_.reserve(bytes + 1);
  BuildTrie(patterns);
  LinkSuffixes();
}

// Level by level over the sorted patterns: those with a common prefix are neighbours, and a node is
// a range of them.
void ByteAutomaton::BuildTrie(std::span<const std::string_view> patterns) {
  std::vector<int32_t> sorted(patterns.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::sort(sorted.begin(), sorted.end(), [patterns](int32_t a, int32_t b) {
    const int order = patterns[static_cast<size_t>(a)].compare(patterns[static_cast<size_t>(b)]);
    return order != 0 ? order < 0 : a < b;  // of equal patterns the first counts
  });
  using Range = std::pair<size_t, size_t>;
  std::vector<Range> level = {{0, sorted.size()}};
  nodes_.emplace_back();
  bytes_.push_back(0);
  size_t node = 0;
  for (size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> next;
    for (auto [at, end] : level) {
      const auto pattern = [&](size_t i) { return patterns[static_cast<size_t>(sorted[i])]; };
      nodes_[node].children = static_cast<State>(nodes_.size());
      nodes_[node].depth = static_cast<int32_t>(depth);
      if (at < end && pattern(at).size() == depth) nodes_[node].match = sorted[at];
      while (at < end && pattern(at).size() == depth) ++at;
      while (at < end) {
        const char byte = pattern(at)[depth];
        const size_t begin = at;
        while (at < end && pattern(at)[depth] == byte) ++at;
        next.emplace_back(begin, at);
        nodes_.emplace_back();
        bytes_.push_back(static_cast<uint8_t>(byte));
      }
      ++node;
    }
    level = std::move(next);
  }
  nodes_.emplace_back();
  nodes_.back().children = static_cast<State>(nodes_.size() - 1);
  for (State child = nodes_[kRoot].children; child < nodes_[kRoot + 1].children; ++child)
    root_children_[bytes_[static_cast<size_t>(child)]] = child;
}

ByteAutomaton::State ByteAutomaton::Child(State state, uint8_t byte) const {
  if (state == kRoot) return root_children_[byte];
  const State begin = nodes_[static_cast<size_t>(state)].children;
  const State end = nodes_[static_cast<size_t>(state) + 1].children;
  const uint8_t* const first = bytes_.data() + begin;
  const void* found =
      begin == end ? nullptr : std::memchr(first, byte, static_cast<size_t>(end - begin));
  if (found == nullptr) return kRoot;
  return begin + static_cast<State>(static_cast<const uint8_t*>(found) - first);
}

// In the order of the nodes, so that the links of all shorter prefixes stand before they are
// followed.
void ByteAutomaton::LinkSuffixes() {
  for (size_t parent = 0; parent + 1 < nodes_.size(); ++parent) {
    for (State child = nodes_[parent].children; child < nodes_[parent + 1].children; ++child) {
      Node& node = nodes_[static_cast<size_t>(child)];
      if (parent != kRoot)
        node.fail = Step(nodes_[parent].fail, bytes_[static_cast<size_t>(child)]);
      const int32_t shorter = nodes_[static_cast<size_t>(node.fail)].match;
      if (node.match == kNoPattern) {
        node.match = shorter;
      } else {
        shorter_[static_cast<size_t>(node.match)] = shorter;
      }
    }
  }
}

ByteAutomaton::State ByteAutomaton::Step(State state, uint8_t byte) const {
  while (true) {
    const State child = Child(state, byte);
    if (child != kRoot || state == kRoot) return child;
    state = nodes_[static_cast<size_t>(state)].fail;
  }
}

}  // namespace skald::text
