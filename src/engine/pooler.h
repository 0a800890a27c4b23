/// Pooler: the hidden states of a prompt to one vector.
///
/// Takes them in the order of their positions, each once, and sums doubles: the vector has the same
/// bits however the prompt was cut into steps, and whatever ran beside it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skald/request.h"
#include "skald/status.h"

namespace skald::engine {

/// For one sequence.
class Pooler {
 public:
  /// `pooling` is not kNone.
  explicit Pooler(Pooling pooling) : pooling_(pooling) {}

  /// The first position of a prompt of `length` tokens whose hidden state is still wanted. Those
  /// before it need not be computed (again).
  int64_t FirstWanted(int64_t length) const;

  /// The position behind the last whose hidden state is wanted.
  int64_t EndWanted(int64_t length) const { return pooling_ == Pooling::kFirst ? 1 : length; }

  /// Takes the hidden state of the next position wanted.
  void Take(std::span<const float> hidden);

  /// What was taken: the one state, or the mean of all. Requires at least one Take. Broken weights
  /// may give what is no number.
  std::vector<float> Pooled() const;

  /// The vector of all that was taken, divided by its length (L2): for the mean it does not matter
  /// by what the sum is divided before. All 0 stays so. Requires at least one Take. Errors:
  /// kNumeric (broken weights).
  Result<std::vector<float>> Embedding() const;

 private:
  Pooling pooling_;
  int64_t taken_ = 0;
  std::vector<double> sum_;
};

}  // namespace skald::engine
