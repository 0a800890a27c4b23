/// RopeOverride: positions turned otherwise than a model's file says, to read more of a text than
/// the model was trained with. A plain value that every room may know.
#pragma once

#include <cstdint>
#include <optional>

#include "skald/version.h"

namespace skald {

/// How a longer context is pressed into the angles that a model has seen.
enum class RopeStretch : uint8_t {
  kNone,    ///< not at all
  kLinear,  ///< positions divided by the factor (Chen et al. 2023)
  kNtk,     ///< a larger frequency base: fast frequencies stay (bloc97 2023, "NTK-aware")
  kYarn,    ///< fast frequencies stay, slow ones are divided, the rest between (Peng et al. 2023)
};

/// What is set replaces what the file says. Numbers are positive and finite; answers differ with
/// each of them.
struct RopeOverride {
  std::optional<RopeStretch> stretch = {};
  /// The context is so many times as long as the trained one; without `stretch` it is that of the
  /// file, or kLinear where the file has none.
  std::optional<double> factor = {};
  std::optional<double> base = {};              ///< theta
  std::optional<int64_t> trained_context = {};  ///< in positions
  // YaRN alone:
  std::optional<double> extrapolation = {};  ///< 0 interpolates all frequencies; may be 0
  std::optional<double> magnitude = {};      ///< of cosine and sine, for 1 + 0.1 ln(factor)
  std::optional<double> beta_fast = {};      ///< turns within the context: faster ones stay
  std::optional<double> beta_slow = {};      ///< slower ones are divided

  bool operator==(const RopeOverride&) const = default;
  /// Whether the file alone decides.
  bool empty() const { return *this == RopeOverride(); }
};

}  // namespace skald
