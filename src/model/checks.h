/// Checks of the numbers that describe a network. Errors: kBadModel with the field, what was found,
/// what was expected.
#pragma once

#include <cstdint>
#include <string_view>

#include "skald/status.h"

namespace skald::model {

/// Bounds far above any published model: a file beyond them is broken or hostile.
inline constexpr int64_t kMaxLayers = 512;
inline constexpr int64_t kMaxHeads = 1024;
inline constexpr int64_t kMaxHeadDim = 1024;
inline constexpr int64_t kMaxWidth = int64_t{1} << 20;
inline constexpr int64_t kMaxContext = int64_t{1} << 27;

/// low <= value <= high.
Status InRange(std::string_view field, int64_t value, int64_t low, int64_t high);

/// A finite number above 0.
Status Positive(std::string_view field, double value);

/// A finite number of at least 0.
Status NotNegative(std::string_view field, double value);

}  // namespace skald::model
