#include "engine/token_budget.h"

#include <algorithm>
#include <cstdlib>

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

bool TokenBudget::MustMeasure(int64_t decode_rows) const {
  // A quarter more or fewer rows: the time has changed by less than that.
  const bool similar = std::abs(decode_rows - measured_rows_) * 4 <= measured_rows_;
  return !similar || steps_since_ >= kStepsBetweenMeasures;
}

int64_t TokenBudget::PrefillRows(int64_t decode_rows) const {
  if (decode_rows == 0) return max_rows_;
  if (MustMeasure(decode_rows)) return 0;
  const int64_t least = std::min(kLeastRows, max_rows_);
  if (row_seconds_ <= 0) return least;
  const double target = target_seconds_ > 0 ? target_seconds_ : kStretch * decode_seconds_;
  const double rows = (target - decode_seconds_) / row_seconds_;
  if (rows >= static_cast<double>(max_rows_)) return max_rows_;
  return std::max(least, static_cast<int64_t>(rows));
}

void TokenBudget::Observe(int64_t decode_rows, int64_t prefill_rows, double seconds) {
  if (seconds <= 0) return;
  if (prefill_rows == 0) {
    if (MustMeasure(decode_rows) && steps_since_ < kStepsBetweenMeasures) decode_seconds_ = 0;
    Blend(seconds, &decode_seconds_);
    measured_rows_ = decode_rows;
    steps_since_ = 0;
    return;
  }
  const auto rows = static_cast<double>(prefill_rows);
  if (decode_rows == 0) return Blend(seconds / rows, &row_seconds_);
  ++steps_since_;
  // A row costs something: a thousandth of the step, whatever noise says.
  Blend(std::max(seconds - decode_seconds_, seconds / 1000) / rows, &row_seconds_);
}

}  // namespace skald::engine
