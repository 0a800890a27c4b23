#include "kv/window_pool.h"

#include <algorithm>

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/attention/attention.h"

namespace skald::kv {

WindowPool::WindowPool(int64_t page_count, const WindowLimits& limits) : limits_(limits) {
  if (!exists()) return;
  CHECK(limits.positions > 0 && limits.pinned >= 0 && limits.pages <= page_count);
  parts_.resize(static_cast<size_t>(page_count));
  free_.reserve(static_cast<size_t>(limits.pages));
  for (int64_t page = limits.pages; page > 0; --page) {
    free_.push_back(static_cast<PageId>(page - 1));
  }
}

int64_t WindowPool::FirstSeen(int64_t position) const {
  return std::max<int64_t>(0, position - limits_.positions + 1) / kernels::kPageTokens;
}

int64_t WindowPool::pinned_pages() const {
  return DivCeil<int64_t>(limits_.pinned, kernels::kPageTokens);
}

int64_t WindowPool::SeenBefore(int64_t index, int64_t position) const {
  return index > FirstSeen(position) ? index - 1 : std::min(index, pinned_pages()) - 1;
}

void WindowPool::Attach(PageId page) {
  CHECK(!Has(page));
  if (free_.empty()) {
    const PageId oldest = NextToGo().oldest;
    CHECK(oldest != kNoPage);
    if (watcher_ != nullptr && At(oldest).is_place) watcher_->LosingWindow(oldest);
    DropIdle(oldest);
    ++evicted_;
  }
  At(page) = {.window = free_.back(), .users = 1};
  free_.pop_back();
}

const WindowPool::Idle& WindowPool::NextToGo() const {
  const auto& [passed, places] = lists_;
  const bool spares_passed = passed.count <= total_count() / 8 && places.count > 0;
  return spares_passed ? places : passed;
}

void WindowPool::Use(PageId page) {
  CHECK(Has(page));
  if (At(page).users++ == 0) ListRemove(page);
}

void WindowPool::Leave(PageId page) {
  CHECK(At(page).users > 0);
  if (--At(page).users == 0) ListInsert(page);
}

void WindowPool::DropIdle(PageId page) {
  if (!Has(page) || At(page).users > 0) return;
  ListRemove(page);
  Detach(page);
}

void WindowPool::Detach(PageId page) {
  free_.push_back(At(page).window);
  if (freed_ != nullptr) freed_->push_back(At(page).window);
  At(page) = {};
}

void WindowPool::ListInsert(PageId page) {
  Part& part = At(page);
  Idle& list = ListOf(part);
  part.older = list.newest;
  part.newer = kNoPage;
  (list.newest == kNoPage ? list.oldest : At(list.newest).newer) = page;
  list.newest = page;
  ++list.count;
}

void WindowPool::ListRemove(PageId page) {
  const Part& part = At(page);
  Idle& list = ListOf(part);
  (part.older == kNoPage ? list.oldest : At(part.older).newer) = part.newer;
  (part.newer == kNoPage ? list.newest : At(part.newer).older) = part.older;
  --list.count;
}

bool WindowsOnTheWay::AllowGoingOn(PageId page, int64_t begin, int64_t end) {
  if (!windows_.exists()) return true;
  const int64_t index = begin / kernels::kPageTokens;
  const int64_t pinned = windows_.pinned_pages();
  if (index != index_ && !has_) {
    missing_ = index_;
    lacks_pinned_ = lacks_pinned_ || index_ < pinned;
  }
  index_ = index;
  has_ = windows_.Has(page);
  const int64_t first = windows_.FirstSeen(end);
  const bool is_seen = index_ >= first || index_ < pinned;
  return (has_ || !is_seen) && missing_ < first && !lacks_pinned_;
}

std::string WindowPool::CheckIntegrity() const {
  std::vector<bool> seen(static_cast<size_t>(total_count()));
  const auto count = [&](PageId window) -> bool {
    if (window < 0 || window >= total_count() || seen[static_cast<size_t>(window)]) return false;
    return seen[static_cast<size_t>(window)] = true;
  };
  int64_t idle = 0;
  int64_t used = 0;
  for (const PageId window : free_) {
    if (!count(window)) return "window pool: a window page is free twice";
  }
  for (const Part& part : parts_) {
    if (part.window == kNoPage && part.users == 0) continue;
    if (!count(part.window)) return "window pool: two pages have one window page";
    ++(part.users > 0 ? used : idle);
  }
  if (idle != idle_count() || used != used_count()) return "window pool: the counts are wrong";
  for (const Idle& list : lists_) {
    PageId older = kNoPage;
    for (PageId page = list.oldest; page != kNoPage; older = page, page = At(page).newer) {
      const bool listed = At(page).users == 0 && Has(page) && At(page).older == older;
      if (!listed || --idle < 0) return "window pool: the list of idle pages is broken";
    }
    if (list.newest != older) return "window pool: the list of idle pages has a wrong end";
  }
  return idle == 0 ? "" : "window pool: an idle page is in no list";
}

}  // namespace skald::kv
