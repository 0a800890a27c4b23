#include "engine/token_budget.h"

#include <algorithm>

namespace skald::engine {
namespace {

// Weight of a new measurement: the estimate follows within some ten steps.
constexpr double kWeight = 0.2;

void Blend(double measured, double* estimate) {
  *estimate = *estimate > 0 ? *estimate + kWeight * (measured - *estimate) : measured;
}

}  // namespace

TokenBudget::TokenBudget(int64_t max_rows, double target_seconds)
    : max_rows_(max_rows), target_seconds_(target_seconds) {}

int64_t TokenBudget::PrefillRows(int64_t decode_rows) const {
  if (decode_rows == 0) return max_rows_;
  const int64_t least = std::min(kLeastRows, max_rows_);
  if (decode_seconds_ <= 0 || row_seconds_ <= 0) return least;
  const double target = target_seconds_ > 0 ? target_seconds_ : kStretch * decode_seconds_;
  const double rows = (target - decode_seconds_) / row_seconds_;
  if (rows >= static_cast<double>(max_rows_)) return max_rows_;
  return std::max(least, static_cast<int64_t>(rows));
}

void TokenBudget::Observe(int64_t decode_rows, int64_t prefill_rows, double seconds) {
  const auto rows = static_cast<double>(prefill_rows);
  if (seconds <= 0) return;
  if (prefill_rows == 0) return Blend(seconds, &decode_seconds_);
  if (decode_rows == 0) return Blend(seconds / rows, &row_seconds_);
  if (decode_seconds_ <= 0 && row_seconds_ <= 0) return;
  if (row_seconds_ <= 0) {
    // A row costs something: a thousandth of the step, whatever noise says.
    return Blend(std::max(seconds - decode_seconds_, seconds / 1000) / rows, &row_seconds_);
  }
  if (decode_seconds_ <= 0) {
    return Blend(std::max(seconds - rows * row_seconds_, seconds / 10), &decode_seconds_);
  }
  // Both are known: the step says how far they are off together.
  const double scale = seconds / (decode_seconds_ + rows * row_seconds_);
  Blend(decode_seconds_ * scale, &decode_seconds_);
  Blend(row_seconds_ * scale, &row_seconds_);
}

}  // namespace skald::engine
