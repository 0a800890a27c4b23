/// Endless: a text that goes on behind all that a model was trained for, in the memory of a window.
/// A plain value that every room may know.
#pragma once

#include <cstdint>

#include "skald/version.h"

namespace skald {

/// What a row sees of a text in the layers that would see all of it: the first `sinks` positions,
/// which models lean on whatever stands there, and the last `window`, its own included. The first
/// sinks + window rows see all before them, as without it. Later ones see the first positions from
/// as far as the last of those did: no distance is longer than the model has seen, if sinks +
/// window are within its trained context. Answers differ with both numbers.
/// Source: Han et al. 2023, LM-Infinite; Xiao et al. 2023, StreamingLLM.
struct Endless {
  int64_t sinks = 0;   ///< 0 to kMaxSinks
  int64_t window = 0;  ///< 0: texts end with the context

  bool operator==(const Endless&) const = default;
  bool exists() const { return window > 0; }
};

/// As many as attention reads in one go. Models lean on one to four.
inline constexpr int64_t kMaxSinks = 256;

/// Longest window.
inline constexpr int64_t kMaxEndlessWindow = int64_t{1} << 20;

}  // namespace skald
