/// TokenTrie: tokens of a vocabulary as a tree of their bytes, laid out flat.
#pragma once

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

/// Nodes stand in depth-first order, bytes ascending: what stands below a node stands right behind
/// it. That is the order of the tokens, too, sorted by their bytes, so that the tokens of a node,
/// and those of all that is below it, are a range of them.
class TokenTrie {
 public:
  struct Node {
    uint32_t end;    ///< the node behind all that is below this one
    uint32_t first;  ///< its first token, in the order of the trie
    uint16_t depth;  ///< bytes up to here, its own counted: at least 1
    uint8_t byte;
  };

  /// A node that nothing stands above, and the byte that leads to it.
  struct Root {
    uint32_t node;
    uint8_t byte;
  };

  /// Longest token that it takes: none has more, and a walk holds something for each byte.
  static constexpr size_t kTokenBytesMax = 1024;

  TokenTrie() : TokenTrie(std::vector<TokenText>()) {}
  /// Tokens in any order, each of 1 to kTokenBytesMax bytes. The bytes may go afterwards.
  explicit TokenTrie(std::vector<TokenText> tokens);

  /// All of these, close together: in most places few bytes may follow, and to ask the nodes
  /// themselves, which lie far apart, would wait for memory once for each of the others.
  std::span<const Root> roots() const { return roots_; }
  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size() - 1); }
  const Node& node(uint32_t index) const { return nodes_[index]; }
  /// Tokens whose bytes end at `node`: mostly none or one.
  std::span<const TokenId> TokensAt(uint32_t node) const { return Tokens(node, node + 1); }
  /// Those, and all that begin with them.
  std::span<const TokenId> TokensBelow(uint32_t node) const {
    return Tokens(node, nodes_[node].end);
  }

  size_t bytes() const {
    return sorted_.size() * sizeof(TokenId) + nodes_.size() * sizeof(Node) +
           roots_.size() * sizeof(Root);
  }

 private:
  std::span<const TokenId> Tokens(uint32_t begin, uint32_t end) const {
    return std::span(sorted_).subspan(nodes_[begin].first, nodes_[end].first - nodes_[begin].first);
  }

  std::vector<TokenId> sorted_;  // by bytes
  std::vector<Node> nodes_;      // and one more, behind the last
  std::vector<Root> roots_;
};

}  // namespace skald::grammar
