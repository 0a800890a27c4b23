/// TokenTrie: the tokens of a vocabulary by their bytes, walked one byte at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/ids.h"
namespace skald::text {

/// The children of a node stand in one row, in the order of their
/// bytes; memory is 13 bytes for each distinct prefix. Immutable.
class TokenTrie {
 public:
  using Node = uint32_t;  ///< a prefix of some token
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = UINT32_MAX;

  struct Entry {
    std::string_view bytes;  ///< not empty
    TokenId token;
  };

  /// Of equal entries the one with the smallest id counts. What they point to is not needed any
  /// more afterwards. Time linear in their bytes, but for sorting them.
  explicit TokenTrie(std::vector<Entry> entries);

  /// The prefix one byte longer, or kNone. A search in at most 256 bytes.
  Node Child(Node node, uint8_t byte) const;
  /// The token that the prefix is as a whole, or kNoToken.
  TokenId Token(Node node) const { return nodes_[node].token; }

 private:
  struct Row {
    uint32_t first_child = 0;
    uint32_t child_count = 0;
    TokenId token = kNoToken;
  };
  std::vector<Row> nodes_;
  std::vector<uint8_t> bytes_;  // of the step into each node
};

}  // namespace skald::text
