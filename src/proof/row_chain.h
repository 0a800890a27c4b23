/// RowChain: the numbers of an answer's draws as one hash, with a link for each token.
#pragma once

#include <string>
#include <string_view>

#include "skald/ids.h"
#include "skald/sampling_params.h"

namespace skald::proof {

/// Digits of a link: enough to find the token where two chains part. That all are the same says the
/// last hash.
inline constexpr size_t kLinkDigits = 8;

/// Receipt::chain and Receipt::links, a token at a time.
class RowChain {
 public:
  RowChain();

  /// The next token of the answer; returns its link.
  std::string_view Add(TokenId token, const TokenDraw& draw);

  /// 64 digits, of all tokens so far.
  const std::string& digits() const { return digits_; }

 private:
  std::string digits_;
};

}  // namespace skald::proof
