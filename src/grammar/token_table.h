/// TokenTable: the tokens of a vocabulary, cut into slices that a mask takes whole where it can.
///
/// Inside of a string nearly every token may follow, and to walk the tree of all of them takes a
/// millisecond. So those of plain text stand apart, by their alphabets: where a grammar takes any
/// such text of a slice's length, its mask is copied and only the rest is walked. After M. Moskal
/// and others, llguidance, 2025.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/alphabet.h"
#include "grammar/token_trie.h"
#include "skald/ids.h"

namespace skald::grammar {

struct TokenSlice {
  TokenTrie trie;
  std::optional<Alphabet> alphabet = {};  ///< of its tokens, if all of them are plain text
  std::vector<uint64_t> mask = {};        ///< of its tokens then
  uint32_t characters = 0;                ///< of the longest one then
  uint32_t fewest = 0;                    ///< of the shortest one
  /// [n]: of the tokens of at most `fewest + n` characters, where that was made.
  std::vector<std::vector<uint64_t>> shorter = {};

  /// Of the plain tokens of at most so many characters: empty if there are none, nothing if only
  /// a walk tells.
  std::optional<std::span<const uint64_t>> UpTo(uint32_t most) const;
};

class CommonMasks;

class TokenTable {
 public:
  /// The bytes of each token; those without any, and those longer than TokenTrie::kTokenBytesMax,
  /// have no text.
  explicit TokenTable(std::span<const std::string_view> token_bytes);
  ~TokenTable();

  /// Each token with text is in one of them.
  const std::vector<TokenSlice>& slices() const { return slices_; }

  int64_t token_count() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  /// Of 64 tokens each: what a mask of all has.
  size_t mask_words() const { return static_cast<size_t>(token_count() + 63) / 64; }
  /// Empty for a token without text, or outside the vocabulary.
  std::string_view BytesOf(TokenId token) const;
  /// Whether the byte alone is a token.
  bool HasByte(uint8_t byte) const { return single_[byte]; }
  /// Made as they are needed, by whatever constraint.
  CommonMasks& common_masks() const { return *common_masks_; }

 private:
  std::vector<char> bytes_;        // of all tokens, one behind the other
  std::vector<uint64_t> offsets_;  // [token], and one more
  std::bitset<256> single_;
  std::vector<TokenSlice> slices_;  // those of no alphabet last
  std::unique_ptr<CommonMasks> common_masks_;
};

}  // namespace skald::grammar
