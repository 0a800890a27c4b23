/// ValueSummary: what many floats look like: their extent, their mean, and a histogram. For tools
/// that explain a run; nothing is computed with it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"

namespace skald::model {

inline constexpr size_t kValueBins = 32;

/// Values that are listed from either end.
inline constexpr int64_t kListedValues = 4;

struct ValueSummary {
  int64_t count = 0;
  int64_t not_finite = 0;         ///< of these; they are in nothing below but the lists
  double min = 0;                 ///< 0 where none is finite
  double max = 0;                 ///< likewise
  double mean = 0;                ///< likewise
  std::vector<float> first = {};  ///< of the first row
  std::vector<float> last = {};   ///< of the last row
  /// Values in as many equal parts of [min, max]; all in the first where min is max.
  std::array<int64_t, kValueBins> bins = {};
};

/// Of all values of `rows` rows, which `row_of` gives, each twice; what it gives is valid until it
/// is asked again. Two passes.
ValueSummary Summarize(int64_t rows, FunctionRef<std::span<const float>(int64_t row)> row_of);

}  // namespace skald::model
