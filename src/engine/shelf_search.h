/// ShelfSearch: how much more of a prefix a shelf has than memory, and which records bring it.
///
/// Where a sequence can go on is where all is that it needs: the pages of all tokens before; where
/// layers have windows, the window pages that its next row sees; and a state, if the network has
/// any. Each of these stands in memory or on the shelf. What is found ends at the border of a page,
/// or with a state at its place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "disk/page_key.h"
#include "engine/page_shelf.h"
#include "engine/shelf_records.h"
#include "kv/prefix_tree.h"
#include "kv/window_pool.h"

namespace skald::engine {

/// What memory has of a prefix: tokens that a sequence can go on from, and what stands in pages.
struct InMemory {
  int64_t cached = 0;
  kv::PrefixTree::Known pages;
};

/// What the shelf adds.
struct OnShelf {
  int64_t tokens = 0;              ///< of the prefix, with those in memory; 0: nothing
  std::vector<ShelfPage> records;  ///< of pages, then of window pages, then of a state
  int64_t page_records = 0;        ///< of these
  std::vector<int64_t> windows;    ///< the pages, by their index, whose window pages are there
};

class ShelfSearch {
 public:
  /// All outlive it. `windows` are those of the network's pages.
  ShelfSearch(const PageShelf& shelf, const kv::WindowPool& windows, const RecordSizes& sizes,
              const disk::PageKey& identity)
      : shelf_(shelf), windows_(windows), sizes_(sizes), identity_(identity) {}

  /// Looks for more than `memory` has of `tokens`. O(tokens): a hash a page, one more for each
  /// window page that is looked for, and for a state 32 at each page behind which there is one for
  /// anybody, of which it looks at the last 64.
  OnShelf Find(kv::Namespace space, std::span<const TokenId> tokens, const InMemory& memory) const;

 private:
  // A prefix, page by page.
  struct Way {
    std::span<const TokenId> tokens;
    const InMemory& memory;
    std::vector<disk::PageKey> keys;  // before each page that is there, and behind the last

    int64_t whole_in_memory() const;
  };

  Way WayOf(kv::Namespace space, std::span<const TokenId> tokens, const InMemory& memory) const;
  OnShelf UpToPage(const Way& way) const;
  OnShelf UpToState(const Way& way) const;
  std::vector<ShelfPage> FindState(std::span<const TokenId> left, const disk::PageKey& before,
                                   int64_t begin) const;
  int64_t FirstWithoutWindow(const Way& way, int64_t end) const;
  std::vector<int64_t> WindowsToBring(const Way& way, int64_t end) const;
  OnShelf UpTo(const Way& way, int64_t end) const;
  bool HasAll(std::span<const ShelfPage> records) const;

  const PageShelf& shelf_;
  const kv::WindowPool& windows_;
  const RecordSizes& sizes_;
  const disk::PageKey identity_;
};

}  // namespace skald::engine
