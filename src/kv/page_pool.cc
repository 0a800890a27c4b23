#include "kv/page_pool.h"

#include <limits>

#include "base/check.h"

namespace skald::kv {

PagePool::PagePool(int64_t page_count, const WindowLimits& windows)
    : windows_(page_count, windows) {
  CHECK(page_count >= 0 && page_count <= std::numeric_limits<PageId>::max());
  holders_.resize(static_cast<size_t>(page_count));
  free_.reserve(static_cast<size_t>(page_count));
  // Lowest page first: early requests use the start of the arena, the rest stays untouched.
  for (int64_t page = page_count; page > 0; --page) {
    free_.push_back(static_cast<PageId>(page - 1));
  }
}

std::optional<PageId> PagePool::Allocate() {
  if (allocatable_count() == 0) return std::nullopt;
  const PageId page = free_.back();
  free_.pop_back();
  used_end_ = std::max<int64_t>(used_end_, int64_t{page} + 1);
  holders_[static_cast<size_t>(page)].sequences = 1;
  if (windows_.exists()) windows_.Attach(page);
  return page;
}

void PagePool::AddReference(PageId page) { Change(page, {.sequences = 1}); }
void PagePool::Release(PageId page) { Change(page, {.sequences = -1}); }
void PagePool::AddCacheReference(PageId page) { Change(page, {.cache = 1}); }
void PagePool::ReleaseCacheReference(PageId page) { Change(page, {.cache = -1}); }
void PagePool::LockCached(PageId page) { Change(page, {.locked = 1}); }
void PagePool::UnlockCached(PageId page) { Change(page, {.locked = -1}); }

void PagePool::LeaveWindow(PageId page) {
  windows_.Leave(page);
  if (At(page).cache == 0) windows_.DropIdle(page);
}

int32_t PagePool::reference_count(PageId page) const { return At(page).references(); }

const PagePool::Holders& PagePool::At(PageId page) const {
  CHECK(page >= 0 && page < total_count());
  return holders_[static_cast<size_t>(page)];
}

void PagePool::Change(PageId page, const Holders& difference) {
  const Holders before = At(page);
  CHECK(before.references() > 0);
  const Holders after = {.sequences = before.sequences + difference.sequences,
                         .cache = before.cache + difference.cache,
                         .locked = before.locked + difference.locked};
  CHECK(after.sequences >= 0 && after.locked >= 0 && after.cache >= after.locked);
  holders_[static_cast<size_t>(page)] = after;
  cached_ += int64_t{after.cached()} - int64_t{before.cached()};
  evictable_ += int64_t{after.evictable()} - int64_t{before.evictable()};
  if (after.cache == 0 && windows_.exists()) windows_.DropIdle(page);
  if (after.references() > 0) return;
  CHECK(!windows_.exists() || !windows_.Has(page));
  free_.push_back(page);
  if (freed_ != nullptr) freed_->push_back(page);
}

std::string PagePool::CheckIntegrity() const {
  int64_t unused = 0;
  int64_t cached = 0;
  int64_t evictable = 0;
  for (const Holders& page : holders_) {
    unused += int64_t{page.references() == 0};
    cached += int64_t{page.cached()};
    evictable += int64_t{page.evictable()};
    if (page.sequences < 0 || page.locked < 0 || page.cache < page.locked) {
      return "page pool: a page has a negative count";
    }
  }
  for (const PageId page : free_) {
    if (reference_count(page) != 0) return "page pool: a free page has a holder";
  }
  if (unused != free_count()) return "page pool: the free list does not match the counts";
  if (cached != cached_) return "page pool: the number of cached pages is wrong";
  if (evictable != evictable_) return "page pool: the number of evictable pages is wrong";
  return windows_.exists() ? CheckWindows() : std::string();
}

// A window page is of a page that somebody has, and idle only where the tree has it.
std::string PagePool::CheckWindows() const {
  for (PageId page = 0; page < static_cast<PageId>(total_count()); ++page) {
    if (!windows_.Has(page)) continue;
    if (reference_count(page) == 0) return "page pool: a free page has a window page";
    if (windows_.users(page) > At(page).sequences) {
      return "page pool: a page is in more windows than sequences have it";
    }
    if (windows_.users(page) == 0 && At(page).cache == 0) {
      return "page pool: a window page is kept for nobody";
    }
  }
  return windows_.CheckIntegrity();
}

}  // namespace skald::kv
