/// StateId: the number of a slot that holds what the recurrent layers of one sequence carry.
/// StateCopy: an order to copy one.
#pragma once

#include <cstdint>

namespace skald::kv {

/// Index into the pool, 0 <= id < slot count.
using StateId = int32_t;

/// Of a sequence without a slot: all of those of a network that has attention alone.
inline constexpr StateId kNoState = -1;

/// "What stands in slot `from` must stand in slot `to` as well."
struct StateCopy {
  StateId from = kNoState;
  StateId to = kNoState;

  friend bool operator==(const StateCopy&, const StateCopy&) = default;
};

}  // namespace skald::kv
