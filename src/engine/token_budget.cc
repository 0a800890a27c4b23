#include "engine/token_budget.h"

#include <algorithm>
#include <bit>
#include <limits>

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

// 1, 2, 3, 4, 5, 6, 7, 8 to 9, 10 to 11, 12 to 13, 14 to 15, 16 to 19, ...: numbers of a class
// differ by less than a quarter, and so do their times.
size_t TokenBudget::ClassOf(int64_t decode_rows) {
  const auto rows = static_cast<uint64_t>(decode_rows);
  const auto top = static_cast<size_t>(std::bit_width(rows)) - 1;
  if (top < 2) return rows;
  return 4 * top + ((rows >> (top - 2)) & 3);
}

// As measured; of a class never measured, as of the nearest one below it, else above. 0 if none is.
double TokenBudget::DecodeSeconds(int64_t decode_rows) const {
  const size_t wanted = ClassOf(decode_rows);
  for (size_t below = wanted + 1; below > 0; --below) {
    if (decode_[below - 1].seconds > 0) return decode_[below - 1].seconds;
  }
  for (size_t above = wanted; above < kClasses; ++above) {
    if (decode_[above].seconds > 0) return decode_[above].seconds;
  }
  return 0;
}

bool TokenBudget::MustMeasure(int64_t decode_rows) const {
  const Decode& known = decode_[ClassOf(decode_rows)];
  const bool is_old = known.seconds <= 0 || known.steps_since >= kStepsBetweenMeasures;
  return is_old && !has_measured_;
}

// In `share` of the time that a step has beside its decode rows.
int64_t TokenBudget::RowsThatFit(int64_t decode_rows, double share, double row_seconds) const {
  const int64_t least = std::min(kLeastRows, max_rows_);
  const double decode_seconds = DecodeSeconds(decode_rows);
  if (row_seconds <= 0 || decode_seconds <= 0) return least;
  const double target = target_seconds_ > 0 ? target_seconds_ : kStretch * decode_seconds;
  const double rows = share * (target - decode_seconds) / row_seconds;
  if (rows >= static_cast<double>(max_rows_)) return max_rows_;
  return std::max(least, static_cast<int64_t>(rows));
}

int64_t TokenBudget::PrefillRows(int64_t decode_rows) const {
  if (decode_rows == 0) return max_rows_;
  if (MustMeasure(decode_rows)) return 0;
  return RowsThatFit(decode_rows, 1, row_seconds_);
}

int64_t TokenBudget::DraftRows(const Rows& others) const {
  if (others.decode == 0) return max_rows_;
  if (MustMeasure(others.decode)) return 0;
  const double share = others.prefill > 0 ? 0.5 : 1;
  // A smaller model takes no longer.
  const bool known = draft_row_seconds_ > 0;
  return RowsThatFit(others.decode, share, known ? draft_row_seconds_ : row_seconds_);
}

double TokenBudget::ExpectedSeconds(const Rows& rows) const {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  double seconds = 0;
  if (rows.decode > 0) seconds = DecodeSeconds(rows.decode);
  if (rows.decode > 0 && seconds <= 0) return kUnknown;
  if (rows.prefill > 0 && row_seconds_ <= 0) return kUnknown;
  return seconds + static_cast<double>(rows.prefill) * row_seconds_ +
         static_cast<double>(rows.draft) * draft_row_seconds_;
}

void TokenBudget::Observe(const Rows& rows, double seconds) {
  const bool measures = rows.prefill == 0 && rows.draft == 0;
  has_measured_ = measures;
  if (seconds <= 0 || rows.decode + rows.prefill == 0) return;
  const auto prefill = static_cast<double>(rows.prefill);
  const auto draft = static_cast<double>(rows.draft);
  if (rows.decode == 0) return Blend(seconds / prefill, &row_seconds_);
  Decode& known = decode_[ClassOf(rows.decode)];  // no rows have no class
  if (measures) {
    Blend(seconds, &known.seconds);
    known.steps_since = 0;
    return;
  }
  ++known.steps_since;
  // A row costs something: a thousandth of the step, whatever noise says.
  const double beside = seconds - DecodeSeconds(rows.decode);
  if (rows.prefill == 0) {
    return Blend(std::max(beside, seconds / 1000) / draft, &draft_row_seconds_);
  }
  const double of_model = beside - draft * draft_row_seconds_;
  Blend(std::max(of_model, seconds / 1000) / prefill, &row_seconds_);
}

}  // namespace skald::engine
