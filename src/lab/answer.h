/// Answer: a prompt with its greedy continuation, and the logits on the way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/experiment.h"
#include "lab/lie.h"
#include "skald/status.h"

namespace skald::lab {

/// Logits of each row.
using Rows = std::vector<std::vector<float>>;

struct Answer {
  std::vector<TokenId> tokens;  ///< of the prompt, then of the answer
  Rows rows;                    ///< of all tokens but the last
};

/// Tokens of prompt and answer together.
int64_t TotalOf(const Bench& bench);

/// Keeps each row that it is called with.
Reading::OnRow KeepIn(Rows* rows);

/// The prompt in as few steps as the lie allows, then one row a step: the tokens of `text`, or
/// where it ends what the model finds likeliest. Errors: kCancelled, kResourceExhausted.
Result<Answer> AnswerOf(const Bench& bench, const Lie& lie, std::span<const TokenId> text);

/// All rows but the last of a text in one step. Errors: the same.
Result<Rows> RowsAtOnce(const Bench& bench, std::span<const TokenId> text);

}  // namespace skald::lab
