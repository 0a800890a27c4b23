#include "proof/row_recorder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace skald::proof {

static_assert(std::endian::native == std::endian::little,
              "hashes are of little-endian numbers; a big-endian port swaps bytes here");

namespace {

template <typename T>
std::string_view BytesOf(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// By their bits: +0 and -0 differ.
bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TokenId TokenAt(std::span<const TokenId> tokens, size_t index) {
  return index < tokens.size() ? tokens[index] : kNoToken;
}

}  // namespace

void RowRecorder::See(int64_t index, std::span<const float> logits) {
  hash_.Add(BytesOf(logits));
  bits_.vocab = static_cast<int64_t>(logits.size());
  if (first_ == nullptr) {
    bits_.logits.insert(bits_.logits.end(), logits.begin(), logits.end());
    return;
  }
  const size_t begin = static_cast<size_t>(index) * logits.size();
  if (logit_.has_value() || begin + logits.size() > first_->logits.size()) return;
  const auto expected = std::span(first_->logits).subspan(begin, logits.size());
  if (SameBits(expected, logits)) return;
  size_t token = 0;
  while (SameBits(expected.subspan(token, 1), logits.subspan(token, 1))) ++token;
  logit_ = {.row = index,
            .token = static_cast<TokenId>(token),
            .expected = expected[token],
            .found = logits[token]};
}

AnswerBits RowRecorder::TakeBits(std::vector<TokenId> tokens) {
  bits_.tokens = std::move(tokens);
  return std::move(bits_);
}

std::optional<ProofDifference> RowRecorder::Difference(std::span<const TokenId> tokens) const {
  if (first_ == nullptr) return std::nullopt;
  const std::span<const TokenId> expected = first_->tokens;
  const auto parted = std::mismatch(expected.begin(), expected.end(), tokens.begin(), tokens.end());
  const auto part = static_cast<size_t>(parted.first - expected.begin());
  const bool same_tokens = expected.size() == tokens.size() && part == tokens.size();
  if (!logit_.has_value() && same_tokens) return std::nullopt;
  // Logits that differ stand before the token that does, or are what it was drawn from.
  ProofDifference difference = logit_.value_or(ProofDifference{.row = static_cast<int64_t>(part)});
  const auto row = static_cast<size_t>(difference.row);
  difference.expected_token = TokenAt(expected, row);
  difference.found_token = TokenAt(tokens, row);
  return difference;
}

std::string HashOfTokens(std::span<const TokenId> tokens) {
  Sha256 hash;
  hash.Add(BytesOf(tokens));
  return hash.Take();
}

}  // namespace skald::proof
