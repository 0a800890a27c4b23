#include "text/byte_automaton.h"

namespace skald::text {

ByteAutomaton::ByteAutomaton() : nodes_(1) {}

ByteAutomaton::ByteAutomaton(std::span<const std::string_view> patterns) : nodes_(1) {
  lengths_.reserve(patterns.size());
  for (size_t i = 0; i < patterns.size(); ++i) {
    Insert(patterns[i], static_cast<int32_t>(i));
    lengths_.push_back(static_cast<int32_t>(patterns[i].size()));
  }
  LinkSuffixes();
}

ByteAutomaton::State ByteAutomaton::Child(State state, uint8_t byte) const {
  if (state == kRoot) return root_children_[byte];
  State child = nodes_[static_cast<size_t>(state)].first_child;
  while (child != kRoot && nodes_[static_cast<size_t>(child)].byte != byte) {
    child = nodes_[static_cast<size_t>(child)].next_sibling;
  }
  return child;
}

void ByteAutomaton::Insert(std::string_view pattern, int32_t index) {
  State state = kRoot;
  for (const char c : pattern) {
    const auto byte = static_cast<uint8_t>(c);
    State child = Child(state, byte);
    if (child == kRoot) {
      child = static_cast<State>(nodes_.size());
      Node& parent = nodes_[static_cast<size_t>(state)];
      Node node;
      node.next_sibling = parent.first_child;
      node.depth = parent.depth + 1;
      node.byte = byte;
      parent.first_child = child;
      if (state == kRoot) root_children_[byte] = child;
      nodes_.push_back(node);
    }
    state = child;
  }
  Node& end = nodes_[static_cast<size_t>(state)];
  if (end.match == kNoPattern) end.match = index;
}

// Breadth first, so that the links of all shorter prefixes stand before they are followed.
void ByteAutomaton::LinkSuffixes() {
  std::vector<State> queue = {kRoot};
  queue.reserve(nodes_.size());
  for (size_t at = 0; at < queue.size(); ++at) {
    const State parent = queue[at];
    for (State child = nodes_[static_cast<size_t>(parent)].first_child; child != kRoot;
         child = nodes_[static_cast<size_t>(child)].next_sibling) {
      Node& node = nodes_[static_cast<size_t>(child)];
      if (parent != kRoot) node.fail = Step(nodes_[static_cast<size_t>(parent)].fail, node.byte);
      if (node.match == kNoPattern) node.match = nodes_[static_cast<size_t>(node.fail)].match;
      queue.push_back(child);
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
