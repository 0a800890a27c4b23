/// PageId: the number of one KV page. PageCopy: an order to copy one.
#pragma once

#include <cstdint>

namespace skald::kv {

/// Index into the pool, 0 <= id < page count. 32 bits of 32 positions each are 64 G positions.
using PageId = int32_t;

/// "The first `positions` positions of page `from` must stand in page `to` as well."
struct PageCopy {
  PageId from = 0;
  PageId to = 0;
  int positions = 0;  ///< 1 to 31; what lies behind them in `to` is undefined

  friend bool operator==(const PageCopy&, const PageCopy&) = default;
};

}  // namespace skald::kv
