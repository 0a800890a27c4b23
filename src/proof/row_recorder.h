/// RowRecorder: hashes the rows of logits of an answer, keeps them or compares them with kept ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "skald/proof.h"

namespace skald::proof {

/// The bits of a whole answer.
struct AnswerBits {
  std::vector<float> logits;  ///< [tokens][vocab]
  std::vector<TokenId> tokens;
  int64_t vocab = 0;
};

/// One for each answer. See is for the engine's thread while it answers, the rest for behind that.
class RowRecorder {
 public:
  /// `first` is the answer to compare with, and outlives this; null: the rows are kept.
  explicit RowRecorder(const AnswerBits* first) : first_(first) {}

  /// Takes the row of the token number `index`, each once and in order.
  void See(int64_t index, std::span<const float> logits);

  /// 64 digits. Nothing may be seen after.
  std::string TakeHash() { return hash_.Take(); }
  /// The rows, if they were kept, with the tokens drawn from them.
  AnswerBits TakeBits(std::vector<TokenId> tokens);
  /// Where rows or tokens part from the first answer's, if they do.
  std::optional<ProofDifference> Difference(std::span<const TokenId> tokens) const;

 private:
  const AnswerBits* first_;
  Sha256 hash_;
  AnswerBits bits_;
  std::optional<ProofDifference> logit_;  // the first that differs
};

/// SHA-256 of the tokens as little-endian int32.
std::string HashOfTokens(std::span<const TokenId> tokens);

}  // namespace skald::proof
