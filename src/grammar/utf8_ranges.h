/// Ranges of characters as sequences of ranges of bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "grammar/char_set.h"

namespace skald::grammar {

/// Bytes `low` to `high`, both included.
struct ByteRange {
  uint8_t low;
  uint8_t high;

  friend auto operator<=>(const ByteRange&, const ByteRange&) = default;
};

/// Sequences of one to four ranges that together take exactly the UTF-8 spellings of the characters
/// of `range`, which has no surrogates. At most some 20 of them.
/// Source: R. Cox, "Regular Expression Matching in the Wild", 2010 (the construction of RE2).
std::vector<std::vector<ByteRange>> Utf8Sequences(CharRange range);

}  // namespace skald::grammar
