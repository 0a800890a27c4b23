/// Charsmap: what SentencePiece replaces in a text before it looks for tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"

namespace skald::text {

/// A "precompiled charsmap": a double array whose keys are sequences of bytes, each with a string
/// that replaces it. Immutable, and proven at creation: a walk ends, inside the table.
/// Source: google/sentencepiece, normalizer.cc; Yata, "Darts-clone: a double-array trie".
class Charsmap {
 public:
  /// What stands for the beginning of a text.
  struct Match {
    std::string_view replacement = {};
    size_t length = 0;  ///< bytes of the text that it replaces; 0: none
  };

  /// Bounds: a published key has at most 30 bytes, its replacement 33.
  static constexpr size_t kMaxKeyBytes = 256;
  static constexpr size_t kMaxReplacementBytes = 256;

  /// Replaces nothing.
  Charsmap() = default;

  /// Reads `blob`: the bytes of the table as a 32-bit number, the table, the replacements. Errors,
  /// all kBadModel: shorter than it says; a table that is no row of 32-bit units, or empty; no 0
  /// at the end of the replacements; a unit or a replacement beyond its end; a cycle; a key or a
  /// replacement over the bounds.
  static Result<Charsmap> Create(std::string_view blob);

  /// The longest key that `text` begins with. A byte 0 ends the search, as in SentencePiece.
  Match LongestPrefix(std::string_view text) const;

 private:
  bool HasChild(uint32_t base, uint8_t byte) const;
  uint32_t ChildBase(uint32_t base, uint8_t byte) const;
  Status CheckTable() const;
  Status CheckReplacement(uint32_t base) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace skald::text
