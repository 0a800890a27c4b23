/// PageId: the number of one KV page. PageParts: where one stands. PageLists: the pages of a
/// sequence. PageCopy: an order to copy one.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace skald::kv {

/// Index into the pool, 0 <= id < page count. 32 bits of 32 positions each are 64 G positions.
using PageId = int32_t;
inline constexpr PageId kNoPage = -1;

/// Where a page stands in the layers of each group (PageGroup): the same number where all layers
/// have as many pages. kNoPage: it does not, or that part is not meant.
struct PageParts {
  PageId full = kNoPage;
  PageId window = kNoPage;

  friend bool operator==(const PageParts&, const PageParts&) = default;
};

/// The pages of one sequence, for layers that see everything before a row and for those that see a
/// window of it (PageGroup): of position p it is entry p / 32 of each list.
struct PageLists {
  PageLists() = default;
  PageLists(std::span<const PageId> full_pages, std::span<const PageId> window_pages)
      : full(full_pages), window(window_pages) {}
  /// One list for all layers: what has a page has its window page under the same number.
  template <typename Range>
  requires std::is_convertible_v<const Range&, std::span<const PageId>> PageLists(
      const Range& pages)
      : full(pages), window(pages) {}

  std::span<const PageId> full;
  /// kNoPage where no row to come sees that far back.
  std::span<const PageId> window;
};

/// "The first `positions` positions of page `from` must stand in page `to` as well."
struct PageCopy {
  PageId from = 0;
  PageId to = 0;
  int positions = 0;  ///< 1 to 31; what lies behind them in `to` is undefined
  /// The same of layers with windows; kNoPage: it goes by the numbers above.
  PageId window_from = kNoPage;
  PageId window_to = kNoPage;

  friend bool operator==(const PageCopy&, const PageCopy&) = default;
};

}  // namespace skald::kv
