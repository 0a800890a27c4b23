/// TokenTrie: tokens of a vocabulary as a tree of their bytes, laid out flat.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "skald/ids.h"

namespace skald::grammar {

/// A token and what it adds to a text.
struct TokenText {
  std::string_view bytes;
  TokenId id;
};

/// The children of a node stand together, bytes ascending, and their bytes in an array of their
/// own: in most places few bytes may follow, and to ask the nodes themselves would wait for memory
/// once for each of the others. Tokens are sorted by their bytes, so that those of a node, and
/// those of all that is below it, are a range of them.
class TokenTrie {
 public:
  /// Nodes beside each other.
  struct Nodes {
    uint32_t begin;
    uint32_t end;
  };

  /// What a walk does behind a node.
  enum class Then : uint8_t { kBelow, kPast, kStop };

  /// Longest token that it takes: none has more, and a walk holds something for each byte.
  static constexpr size_t kTokenBytesMax = 1024;

  TokenTrie() = default;
  /// Tokens in any order, each of 1 to kTokenBytesMax bytes. The bytes may go afterwards.
  explicit TokenTrie(std::vector<TokenText> tokens);

  /// Those that nothing stands above.
  Nodes roots() const { return {0, root_count_}; }
  Nodes Below(uint32_t node) const { return {nodes_[node].below, nodes_[node].below_end}; }
  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }
  uint8_t byte(uint32_t node) const { return bytes_[node]; }
  /// Tokens whose bytes end at `node`: mostly none or one.
  std::span<const TokenId> TokensAt(uint32_t node) const {
    return Tokens(nodes_[node].first, nodes_[node].longer);
  }
  /// Those, and all that begin with them.
  std::span<const TokenId> TokensBelow(uint32_t node) const {
    return Tokens(nodes_[node].first, nodes_[node].end);
  }

  /// Calls `visit(depth, node)` for nodes in the order of their bytes, each before those below it;
  /// above it stand `depth` others. It says where the walk goes: kPast leaves out what is below.
  /// False if it was stopped.
  template <typename Visit>
  bool Walk(Visit visit) const;

  size_t bytes() const {
    return sorted_.size() * sizeof(TokenId) + nodes_.size() * (sizeof(Node) + 1);
  }

 private:
  struct Node {
    uint32_t first;   // its first token, in the order of the trie
    uint32_t longer;  // the first one that has more bytes
    uint32_t end;     // the one behind all that begin so
    uint32_t below;   // its children
    uint32_t below_end;
  };

  std::span<const TokenId> Tokens(uint32_t begin, uint32_t end) const {
    return std::span(sorted_).subspan(begin, end - begin);
  }
  void AddNodes(const std::vector<TokenText>& tokens, Nodes range, size_t depth);

  std::vector<TokenId> sorted_;  // by bytes
  std::vector<Node> nodes_;
  std::vector<uint8_t> bytes_;  // [node]
  uint32_t root_count_ = 0;
};

template <typename Visit>
bool TokenTrie::Walk(Visit visit) const {
  struct Open {
    Nodes nodes;  // still to be visited, at least one
    uint32_t depth;
  };
  std::array<Open, kTokenBytesMax> open;
  size_t count = 0;
  Nodes nodes = roots();
  for (uint32_t depth = 0;;) {
    if (nodes.begin == nodes.end) {
      if (count == 0) return true;
      nodes = open[--count].nodes;
      depth = open[count].depth;
    }
    const uint32_t node = nodes.begin++;
    const Then then = visit(size_t{depth}, node);
    if (then == Then::kStop) return false;
    if (then == Then::kPast) continue;
    const Nodes below = Below(node);
    if (below.begin == below.end) continue;
    // The last of its siblings leaves none to come back to: the end of a long token is a chain of
    // nodes, and costs nothing to go down or up.
    if (nodes.begin != nodes.end) open[count++] = {nodes, depth};
    nodes = below;
    ++depth;
  }
}

}  // namespace skald::grammar
