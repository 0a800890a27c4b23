/// PagePool: who holds which KV page. Integers only; the bytes are in kv_store.h.
///
/// A page has two kinds of holders: sequences (page tables) and the cache (the prefix tree). Its
/// reference count is the sum of both. Accounting is conserved, always:
///
///     free (nobody) + held (some sequence) + cached (the cache only) = total
///
/// Where layers with windows keep fewer pages, a page may have a window page beside (windows()): it
/// gets one when it is taken, and loses it at the latest when it is freed.
///
/// A page with one reference belongs to its holder alone. Who may write a page that has more is
/// the rule of kv/page_table.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kv/page_id.h"
#include "kv/window_pool.h"

namespace skald::kv {

/// Not thread-safe: the engine thread owns it. All memory is taken at construction. Every function
/// but CheckIntegrity is O(1).
class PagePool {
 public:
  /// A pool of `page_count` >= 0 free pages.
  explicit PagePool(int64_t page_count, const WindowLimits& windows = {});

  /// Takes a free page with one reference of a sequence, and a window page used once; or nothing if
  /// none is left.
  std::optional<PageId> Allocate();
  /// How many pages Allocate can give.
  int64_t allocatable_count() const {
    return windows_.exists() ? std::min(free_count(), windows_.available_count()) : free_count();
  }

  /// Adds a sequence's reference to a page that is not free.
  void AddReference(PageId page);
  /// Drops a sequence's reference; the page becomes free with the last reference of any kind.
  void Release(PageId page);

  /// Adds a reference of the cache to a page that is not free. For PrefixTree only, as are the
  /// three below.
  void AddCacheReference(PageId page);
  /// Drops a reference of the cache; the page becomes free with the last reference of any kind.
  void ReleaseCacheReference(PageId page);
  /// Says that one of the page's cache references cannot be dropped for now. At most as often as
  /// there are such references.
  void LockCached(PageId page);
  void UnlockCached(PageId page);

  /// A sequence of those that have the page in their window has it there no more. If the tree does
  /// not have it, nobody else can come to need its window page.
  void LeaveWindow(PageId page);
  /// Where a page stands.
  PageParts PartsOf(PageId page) const {
    return {.full = page, .window = windows_.exists() ? windows_.Of(page) : page};
  }
  WindowPool& windows() { return windows_; }
  const WindowPool& windows() const { return windows_; }

  /// True if the page has exactly one holder, of whichever kind.
  bool IsWritable(PageId page) const { return reference_count(page) == 1; }

  /// References of sequences and cache together. 0: the page is free.
  int32_t reference_count(PageId page) const;
  int32_t cache_references(PageId page) const { return At(page).cache; }
  int32_t cache_locks(PageId page) const { return At(page).locked; }

  /// One above the highest page that anybody has had.
  int64_t used_end() const { return used_end_; }

  int64_t free_count() const { return static_cast<int64_t>(free_.size()); }
  /// Pages that a sequence refers to, whether or not the cache does too.
  int64_t held_count() const { return total_count() - free_count() - cached_; }
  /// Pages that only the cache refers to.
  int64_t cached_count() const { return cached_; }
  /// The cached pages without a lock: what eviction of everything would free.
  int64_t evictable_count() const { return evictable_; }
  int64_t total_count() const { return static_cast<int64_t>(holders_.size()); }

  /// From now on each page that becomes free is appended to `*freed`, in order; null ends it. For
  /// test builds, which poison freed pages. The owner of the list empties it.
  void RecordFreed(std::vector<PageId>* freed) { freed_ = freed; }

  /// Recounts everything. Empty if all is well, else one line that says what is wrong. O(total).
  std::string CheckIntegrity() const;

 private:
  struct Holders {
    int32_t sequences = 0;
    int32_t cache = 0;
    int32_t locked = 0;  // of `cache`

    int32_t references() const { return sequences + cache; }
    bool cached() const { return sequences == 0 && cache > 0; }
    bool evictable() const { return cached() && locked == 0; }
  };

  std::string CheckWindows() const;
  const Holders& At(PageId page) const;
  // Adds to the counts of a page that is not free, keeps the totals, frees it at zero.
  void Change(PageId page, const Holders& difference);

  std::vector<PageId> free_;      // a stack: the page freed last is still warm in the cache
  std::vector<Holders> holders_;  // by page
  int64_t used_end_ = 0;
  int64_t cached_ = 0;
  int64_t evictable_ = 0;
  std::vector<PageId>* freed_ = nullptr;
  WindowPool windows_;
};

}  // namespace skald::kv
