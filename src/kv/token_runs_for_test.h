/// Runs of tokens, as tests of the prefix tree put them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "skald/ids.h"

namespace skald::kv {

/// Tokens first, first + 1, ..., `count` of them.
inline std::vector<TokenId> Count(int64_t count, TokenId first = 0) {
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// `front`, then `rear`.
inline std::vector<TokenId> operator+(std::vector<TokenId> front,
                                      const std::vector<TokenId>& rear) {
  front.insert(front.end(), rear.begin(), rear.end());
  return front;
}

}  // namespace skald::kv
