#include "kv/page_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/attention/attention.h"

namespace skald::kv {
namespace {

constexpr int64_t kPage = kernels::kPageTokens;

int64_t PagesFor(int64_t positions) { return DivCeil<int64_t>(positions, kPage); }

}  // namespace

PageTable::PageTable(PagePool* pool, int64_t max_positions) : pool_(pool) {
  CHECK(max_positions >= 0);
  pages_.reserve(static_cast<size_t>(PagesFor(max_positions)));
  if (!pool_->windows().exists()) return;
  window_pages_.reserve(pages_.capacity());
  pinned_ = pool_->windows().pinned_pages();
}

PageTable::~PageTable() { Truncate(0); }

PageTable::PageTable(PageTable&& other) noexcept
    : pool_(other.pool_),
      pages_(std::exchange(other.pages_, {})),
      window_pages_(std::exchange(other.window_pages_, {})),
      pinned_(other.pinned_),
      first_in_window_(std::exchange(other.first_in_window_, 0)),
      shared_(std::exchange(other.shared_, 0)),
      first_owned_(std::exchange(other.first_owned_, 0)) {}

PageTable& PageTable::operator=(PageTable&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(pages_, other.pages_);
  std::swap(window_pages_, other.window_pages_);
  std::swap(pinned_, other.pinned_);
  std::swap(first_in_window_, other.first_in_window_);
  std::swap(shared_, other.shared_);
  std::swap(first_owned_, other.first_owned_);
  return *this;
}

void PageTable::Adopt(std::span<const PageId> pages, int64_t positions) {
  if (pool_->windows().exists()) first_in_window_ = pool_->windows().FirstSeen(positions);
  AdoptFrom(pages, positions);
}

void PageTable::AdoptUnseen(std::span<const PageId> pages, int64_t positions) {
  if (pool_->windows().exists()) first_in_window_ = static_cast<int64_t>(pages.size());
  pinned_ = 0;
  AdoptFrom(pages, positions);
}

// With the window pages of those InWindow.
void PageTable::AdoptFrom(std::span<const PageId> pages, int64_t positions) {
  CHECK(pages_.empty() && static_cast<int64_t>(pages.size()) == PagesFor(positions));
  CHECK(pages.size() <= pages_.capacity());
  for (const PageId page : pages) PushShared(page);
  shared_ = positions;
  first_owned_ = static_cast<int64_t>(pages.size());
}

PageTable PageTable::Fork(int64_t positions) {
  MarkShared(positions);
  PageTable fork(pool_, static_cast<int64_t>(pages_.capacity()) * kPage);
  fork.Adopt(pages().first(static_cast<size_t>(PagesFor(positions))), positions);
  return fork;
}

bool PageTable::PrepareWrite(int64_t from, int64_t to, std::vector<PageCopy>* copies) {
  CHECK(from <= to && PagesFor(to) <= static_cast<int64_t>(pages_.capacity()));
  CHECK(PagesFor(from) <= static_cast<int64_t>(pages_.size()));
  if (PagesToWrite(from, to) > pool_->free_count()) return false;
  if (!HasWindowPagesTo(from, to)) return false;
  Truncate(from);
  const int64_t last = PagesFor(from) - 1;
  const auto kept = static_cast<int>(from % kPage);
  if (kept > 0 && to > from && !OwnsPage(last)) {
    if (!pool_->IsWritable(pages_.back())) copies->push_back(CopyLast(kept));
    first_owned_ = last;
  }
  while (static_cast<int64_t>(pages_.size()) < PagesFor(to)) PushNew();
  return true;
}

// The last page is replaced; its new window page is not the one of the page that is copied, which
// may go to the next that takes one.
PageCopy PageTable::CopyLast(int positions) {
  const PageId front = pages_.back();
  PageCopy copy = {.from = front, .to = *pool_->Allocate(), .positions = positions};
  if (pool_->windows().exists()) {
    copy.window_from = window_pages_.back();
    copy.window_to = pool_->windows().Of(copy.to);
    window_pages_.back() = copy.window_to;
    pool_->LeaveWindow(front);
  }
  pages_.back() = copy.to;
  pool_->Release(front);
  return copy;
}

// Pages behind what is computed are nobody else's: they are given back with their window pages. One
// more is taken for a copy, before the page that is copied is let go.
bool PageTable::HasWindowPagesTo(int64_t from, int64_t to) const {
  if (!pool_->windows().exists()) return true;
  const int64_t given_back = static_cast<int64_t>(pages_.size()) - PagesFor(from);
  const int64_t taken = PagesFor(to) - PagesFor(from) + 1;
  return taken - given_back <= pool_->windows().available_count();
}

int64_t PageTable::PagesToWrite(int64_t from, int64_t to) const {
  const int64_t last = PagesFor(from) - 1;
  int64_t given_back = 0;
  for (int64_t i = last + 1; i < static_cast<int64_t>(pages_.size()); ++i) {
    given_back += int64_t{pool_->IsWritable(pages_[static_cast<size_t>(i)])};
  }
  const bool owned_after = from >= shared_ && OwnsPage(last);
  const bool copies = from % kPage != 0 && to > from && !owned_after &&
                      !pool_->IsWritable(pages_[static_cast<size_t>(last)]);
  return PagesFor(to) - (last + 1) + int64_t{copies} - given_back;
}

bool PageTable::Reserve(int64_t positions) {
  const auto wanted = static_cast<size_t>(PagesFor(positions));
  CHECK(wanted <= pages_.capacity());
  if (wanted <= pages_.size()) return true;
  if (static_cast<int64_t>(wanted - pages_.size()) > pool_->allocatable_count()) return false;
  while (pages_.size() < wanted) PushNew();
  return true;
}

void PageTable::Truncate(int64_t positions) {
  while (static_cast<int64_t>(pages_.size()) > PagesFor(positions)) Pop();
  first_in_window_ = std::min(first_in_window_, static_cast<int64_t>(pages_.size()));
  if (positions < shared_) {
    // The rest of the last page is seen by others: it is not ours to write any more.
    shared_ = positions;
    first_owned_ = static_cast<int64_t>(pages_.size());
  }
}

void PageTable::MarkShared(int64_t positions) {
  CHECK(PagesFor(positions) <= static_cast<int64_t>(pages_.size()));
  shared_ = std::max(shared_, positions);
}

void PageTable::TakeShared(int64_t index, PageId page) {
  CHECK((index + 1) * kPage <= shared_);
  const auto place = static_cast<size_t>(index);
  pool_->AddReference(page);
  if (pool_->windows().exists() && InWindow(index)) {
    pool_->windows().Use(page);
    pool_->LeaveWindow(pages_[place]);
    window_pages_[place] = pool_->windows().Of(page);
  }
  pool_->Release(std::exchange(pages_[place], page));
  first_owned_ = std::max(first_owned_, index + 1);
}

void PageTable::ForgetBehind(int64_t position) {
  if (!pool_->windows().exists()) return;
  LeaveWindows(std::min(pool_->windows().FirstSeen(position), static_cast<int64_t>(pages_.size())));
}

void PageTable::LeaveWindows(int64_t before) {
  if (!pool_->windows().exists()) return;
  for (; first_in_window_ < before; ++first_in_window_) {
    if (first_in_window_ >= pinned_) LeaveWindow(first_in_window_);
  }
}

void PageTable::LeaveWindow(int64_t index) {
  pool_->LeaveWindow(pages_[static_cast<size_t>(index)]);
  window_pages_[static_cast<size_t>(index)] = kNoPage;
}

void PageTable::ForgetAll() {
  LeaveWindows(std::ssize(pages_));
  const int64_t pinned = std::min(std::exchange(pinned_, 0), std::ssize(pages_));
  for (int64_t index = 0; index < pinned; ++index) LeaveWindow(index);
}

void PageTable::MarkPlace() {
  if (!pool_->windows().exists()) return;
  for (int64_t i = 0; i < std::ssize(pages_); ++i) {
    if (InWindow(i)) pool_->windows().MarkPlace(pages_[static_cast<size_t>(i)]);
  }
}

void PageTable::PushNew() {
  pages_.push_back(*pool_->Allocate());
  if (pool_->windows().exists()) window_pages_.push_back(pool_->windows().Of(pages_.back()));
}

void PageTable::PushShared(PageId page) {
  pool_->AddReference(page);
  if (pool_->windows().exists()) {
    const bool seen = InWindow(std::ssize(pages_));
    if (seen) pool_->windows().Use(page);
    window_pages_.push_back(seen ? pool_->windows().Of(page) : kNoPage);
  }
  pages_.push_back(page);
}

// Whoever lets go here, or another one, may come back: that is where it goes on.
void PageTable::Pop() {
  const PageId page = pages_.back();
  if (pool_->windows().exists()) {
    if (InWindow(std::ssize(pages_) - 1)) {
      pool_->windows().MarkPlace(page);
      pool_->LeaveWindow(page);
    }
    window_pages_.pop_back();
  }
  pool_->Release(page);
  pages_.pop_back();
}

bool PageTable::OwnsPage(int64_t index) const { return index >= first_owned_; }

}  // namespace skald::kv
