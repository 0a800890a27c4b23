#include "engine/prompt_scorer.h"

#include <utility>

#include "base/check.h"

namespace skald::engine {

int64_t PromptScorer::next() const {
  if (told_) return prompt_tokens_ - 1;
  return taken_ == nullptr ? 0 : std::ssize(taken_->tokens);
}

void PromptScorer::Add(const PromptLogprobs::Token& token,
                       std::span<const TokenLogprob> likeliest) {
  CHECK(!done());
  if (taken_ == nullptr) {
    taken_ = std::make_shared<PromptLogprobs>();
    const auto rows = static_cast<size_t>(prompt_tokens_ - 1);
    taken_->tokens.reserve(rows);
    taken_->top.reserve(rows * static_cast<size_t>(top_));
    taken_->top_ends.reserve(rows);
  }
  taken_->tokens.push_back(token);
  taken_->top.insert(taken_->top.end(), likeliest.begin(), likeliest.end());
  taken_->top_ends.push_back(taken_->top.size());
}

std::shared_ptr<const PromptLogprobs> PromptScorer::Take() {
  CHECK(done() && !told_);
  told_ = true;
  // Of a prompt of one token: nothing stands before it.
  if (taken_ == nullptr) return std::make_shared<PromptLogprobs>();
  return std::exchange(taken_, nullptr);
}

}  // namespace skald::engine
