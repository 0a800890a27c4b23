/// BatchBuilder: the one way to make a step batch.
///
///     builder.Clear();
///     const int64_t first = builder.Add({.first_position = 7, .pages = table.lists()}, tokens);
///     builder.WantLogits(first, 1);
///     network.Forward(builder.batch());
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/step_batch.h"

namespace skald::engine {

/// Its memory is used again: once its lists have grown it allocates nothing.
class BatchBuilder {
 public:
  /// So that steps of at most so many rows and logit rows allocate nothing from the first on.
  void Reserve(int64_t rows, int64_t logit_rows);
  void Clear();

  /// The next rows of a sequence, behind all rows before: `tokens`, then `more`. The row_count of
  /// `rows` is counted here. Returns the index of the first row in the step.
  int64_t Add(model::SequenceRows rows, std::span<const TokenId> tokens,
              std::span<const TokenId> more = {});

  /// Logits, or hidden states, are wanted of `count` rows of the step from `first` on. Each list is
  /// given in ascending order, and the hidden rows stand behind the logit rows.
  void WantLogits(int64_t first, int64_t count);
  void WantHidden(int64_t first, int64_t count);

  int64_t row_count() const { return static_cast<int64_t>(tokens_.size()); }
  /// What was added since Clear; valid until something else is.
  model::StepBatch batch() const {
    return {.tokens = tokens_,
            .sequences = sequences_,
            .logit_rows = logit_rows_,
            .hidden_rows = hidden_rows_};
  }

 private:
  std::vector<TokenId> tokens_;
  std::vector<model::SequenceRows> sequences_;
  std::vector<int32_t> logit_rows_;
  std::vector<int32_t> hidden_rows_;
};

}  // namespace skald::engine
