#include "engine/constrained_text.h"

#include <algorithm>

#include "base/status_macros.h"

namespace skald::engine {
namespace {

bool IsIn(std::span<const TokenId> tokens, TokenId token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

// Sets the bits of all tokens that end a text to `allowed`.
void SetEnds(const TextEnds& ends, bool allowed, std::span<uint64_t> words) {
  for (const auto tokens : {ends.of_model, ends.of_request}) {
    for (const TokenId token : tokens) {
      uint64_t& word = words[static_cast<size_t>(token) / 64];
      const uint64_t bit = uint64_t{1} << token % 64;
      word = allowed ? word | bit : word & ~bit;
    }
  }
}

}  // namespace

Status ConstrainedText::Follow(std::span<const TokenId> output) {
  for (; followed_ < output.size(); ++followed_) {
    RETURN_IF_ERROR(state_.Advance(output[followed_]));
  }
  return Ok();
}

bool TextEnds::Contain(TokenId token) const {
  return IsIn(of_model, token) || IsIn(of_request, token);
}

bool Allows(const ConstrainedText& text, const TextEnds& ends, TokenId token) {
  if (ends.Contain(token)) return text.state().may_end() && !ends.banned;
  return text.state().Allows(token);
}

Status FillMask(const ConstrainedText& text, const TextEnds& ends, std::span<uint64_t> words,
                grammar::MaskBudget* budget) {
  RETURN_IF_ERROR(text.state().FillMask(words, budget));
  const bool may_end = text.state().may_end();
  SetEnds(ends, may_end && !ends.banned, words);
  const bool is_empty = std::all_of(words.begin(), words.end(), [](uint64_t w) { return w == 0; });
  if (!is_empty) return Ok();
  // Nothing but the spelling of a stop token goes on. The constraint wins: the token may come as
  // text, and ends it, as a stop string would.
  RETURN_IF_ERROR(text.state().FillMask(words));
  if (may_end) SetEnds(ends, true, words);
  return Ok();
}

}  // namespace skald::engine
