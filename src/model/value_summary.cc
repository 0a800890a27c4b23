#include "model/value_summary.h"

#include <algorithm>
#include <cmath>

namespace skald::model {
namespace {

void AddExtent(std::span<const float> row, ValueSummary* summary, double* sum) {
  for (const float value : row) {
    const bool is_first = summary->count == summary->not_finite;
    ++summary->count;
    if (!std::isfinite(value)) {
      ++summary->not_finite;
      continue;
    }
    const auto x = static_cast<double>(value);
    summary->min = is_first ? x : std::min(summary->min, x);
    summary->max = is_first ? x : std::max(summary->max, x);
    *sum += x;
  }
}

void AddToBins(std::span<const float> row, ValueSummary* summary) {
  const double width = (summary->max - summary->min) / double{kValueBins};
  for (const float value : row) {
    if (!std::isfinite(value)) continue;
    const double place = width > 0 ? (static_cast<double>(value) - summary->min) / width : 0;
    // The greatest is in the last part, not behind it.
    ++summary->bins[std::min(kValueBins - 1, static_cast<size_t>(place))];
  }
}

}  // namespace

ValueSummary Summarize(int64_t rows, FunctionRef<std::span<const float>(int64_t row)> row_of) {
  ValueSummary summary;
  double sum = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const std::span<const float> values = row_of(row);
    const auto listed = std::min(values.size(), static_cast<size_t>(kListedValues));
    if (row == 0) summary.first.assign(values.begin(), values.begin() + listed);
    if (row == rows - 1) summary.last.assign(values.end() - listed, values.end());
    AddExtent(values, &summary, &sum);
  }
  const int64_t finite = summary.count - summary.not_finite;
  if (finite > 0) summary.mean = sum / static_cast<double>(finite);
  for (int64_t row = 0; row < rows; ++row) AddToBins(row_of(row), &summary);
  return summary;
}

}  // namespace skald::model
