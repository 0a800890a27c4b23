/// PromptScorer: the log probabilities of a prompt on their way.
///
/// The row of each token but the last says how probable the token behind it is. Rows come in the
/// order of their positions, each once, however the prompt is cut into steps and however often it
/// is preempted: what was taken stays, and rows before it need not be computed for it again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "skald/ids.h"
#include "skald/request.h"

namespace skald::engine {

/// For the prompt of one request.
class PromptScorer {
 public:
  /// Of a prompt of `prompt_tokens` >= 1, with the `top` likeliest tokens of each row.
  PromptScorer(int64_t prompt_tokens, int32_t top) : prompt_tokens_(prompt_tokens), top_(top) {}

  int32_t top() const { return top_; }
  /// The position of the first row that is still wanted.
  int64_t next() const;
  /// True if no row is wanted any more.
  bool done() const { return told_ || next() == prompt_tokens_ - 1; }
  /// True until Take gave the result away: it is still to be told.
  bool is_to_tell() const { return !told_; }

  /// What row next() says. Takes memory for all rows with the first.
  void Add(const PromptLogprobs::Token& token, std::span<const TokenLogprob> likeliest);

  /// The result, once. Requires done.
  std::shared_ptr<const PromptLogprobs> Take();

 private:
  int64_t prompt_tokens_;
  int32_t top_;
  bool told_ = false;
  std::shared_ptr<PromptLogprobs> taken_;
};

}  // namespace skald::engine
