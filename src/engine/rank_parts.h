/// ForEachPart: bytes that lie in several ranks, one part behind the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace skald::engine {

/// Where the ranks have `sizes` bytes each, calls `visit(rank, begin there, part)` for each that
/// has some of `bytes`, which are those of all from `begin` on.
template <typename Bytes, typename Visit>
void ForEachPart(std::span<const int64_t> sizes, int64_t begin, Bytes bytes, const Visit& visit) {
  for (size_t rank = 0; rank < sizes.size(); ++rank) {
    const int64_t room = sizes[rank] - begin;
    if (room > 0 && !bytes.empty()) {
      const Bytes part = bytes.first(std::min(bytes.size(), static_cast<size_t>(room)));
      visit(rank, begin, part);
      bytes = bytes.subspan(part.size());
    }
    begin = std::max<int64_t>(0, -room);
  }
}

}  // namespace skald::engine
