/// PageId: the number of one KV page.
#pragma once

#include <cstdint>

namespace skald::kv {

/// Index into the pool, 0 <= id < page count. 32 bits of 32 positions each are 64 G positions.
using PageId = int32_t;

}  // namespace skald::kv
