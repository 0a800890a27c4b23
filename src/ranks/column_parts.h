/// The floats of Columns one behind the other, as they go through a block of memory or a socket.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ranks/exchange.h"

namespace skald::ranks {

inline int64_t FloatsOf(const Columns& columns) {
  return columns.row_count * columns.runs * columns.count;
}

/// Calls `copy(floats of the rows, count)` for `floats` floats of the columns from number `begin`
/// on, counted run by run and row by row, a part of a run at a time.
template <typename Copy>
void ForEachPart(const Columns& columns, int64_t begin, int64_t floats, const Copy& copy) {
  while (floats > 0) {
    const int64_t run = begin / columns.count;
    const int64_t at = begin % columns.count;
    const int64_t part = std::min(columns.count - at, floats);
    copy(columns.rows + run / columns.runs * columns.stride + columns.first +
             run % columns.runs * columns.run_stride + at,
         part);
    begin += part;
    floats -= part;
  }
}

/// `floats` floats of the columns, from number `begin` on, to consecutive ones, and back.
inline void CopyOut(const Columns& columns, int64_t begin, int64_t floats, float* to) {
  ForEachPart(columns, begin, floats,
              [&](const float* row, int64_t part) { to = std::copy_n(row, part, to); });
}
inline void CopyIn(const float* from, int64_t begin, int64_t floats, const Columns& columns) {
  ForEachPart(columns, begin, floats, [&](float* row, int64_t part) {
    std::copy_n(from, part, row);
    from += part;
  });
}

}  // namespace skald::ranks
