/// TokenTrie: the tokens of a vocabulary as a tree of their bytes, laid out flat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "skald/ids.h"

namespace skald::grammar {

/// Nodes stand in depth-first order, bytes ascending: what stands below a node stands right behind
/// it. That is the order of the tokens, too, sorted by their bytes, so that the tokens of a node,
/// and those of all that is below it, are a range of them.
class TokenTrie {
 public:
  /// Longer tokens have no text. No vocabulary has one; a walk holds a row for each byte.
  static constexpr size_t kTokenBytesMax = 1024;

  struct Node {
    uint32_t end;    ///< the node behind all that is below this one
    uint32_t first;  ///< its first token, in the order of the trie
    uint16_t depth;  ///< bytes up to here, its own counted: at least 1
    uint8_t byte;
  };

  /// The bytes of each token; those without any are not in the trie.
  explicit TokenTrie(std::span<const std::string_view> token_bytes);

  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size() - 1); }
  const Node& node(uint32_t index) const { return nodes_[index]; }
  /// Tokens whose bytes end at `node`: mostly none or one.
  std::span<const TokenId> TokensAt(uint32_t node) const { return Tokens(node, node + 1); }
  /// Those, and all that begin with them.
  std::span<const TokenId> TokensBelow(uint32_t node) const {
    return Tokens(node, nodes_[node].end);
  }

  int64_t token_count() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  /// Empty for a token without text, or outside the vocabulary.
  std::string_view BytesOf(TokenId token) const;
  /// Whether the byte alone is a token.
  bool HasByte(uint8_t byte) const;

 private:
  std::span<const TokenId> Tokens(uint32_t begin, uint32_t end) const {
    return std::span(sorted_).subspan(nodes_[begin].first, nodes_[end].first - nodes_[begin].first);
  }
  // The token `index` of the sorted ones, behind that of the bytes `before`.
  void Insert(uint32_t index, std::string_view bytes, std::string_view before);
  // Sets the end of the nodes that are open at `depth` or deeper.
  void Close(size_t depth);

  std::vector<char> bytes_;        // of all tokens, one behind the other
  std::vector<uint64_t> offsets_;  // [token], and one more
  std::vector<TokenId> sorted_;    // by bytes
  std::vector<Node> nodes_;        // and one more, behind the last
  std::vector<uint32_t> open_;     // while it is made: the nodes on the way to the last one
};

}  // namespace skald::grammar
