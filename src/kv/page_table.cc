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
}

PageTable::~PageTable() { Truncate(0); }

PageTable::PageTable(PageTable&& other) noexcept
    : pool_(other.pool_),
      pages_(std::exchange(other.pages_, {})),
      shared_(std::exchange(other.shared_, 0)),
      first_owned_(std::exchange(other.first_owned_, 0)) {}

PageTable& PageTable::operator=(PageTable&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(pages_, other.pages_);
  std::swap(shared_, other.shared_);
  std::swap(first_owned_, other.first_owned_);
  return *this;
}

void PageTable::Adopt(std::span<const PageId> pages, int64_t positions) {
  CHECK(pages_.empty() && static_cast<int64_t>(pages.size()) == PagesFor(positions));
  CHECK(pages.size() <= pages_.capacity());
  for (const PageId page : pages) {
    pool_->AddReference(page);
    pages_.push_back(page);
  }
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
  Truncate(from);
  const int64_t last = PagesFor(from) - 1;
  const auto kept = static_cast<int>(from % kPage);
  if (kept > 0 && to > from && !OwnsPage(last)) {
    const PageId front = pages_.back();
    if (!pool_->IsWritable(front)) {
      const PageId copy = *pool_->Allocate();
      copies->push_back({.from = front, .to = copy, .positions = kept});
      pages_.back() = copy;
      pool_->Release(front);
    }
    first_owned_ = last;
  }
  while (static_cast<int64_t>(pages_.size()) < PagesFor(to)) pages_.push_back(*pool_->Allocate());
  return true;
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
  if (static_cast<int64_t>(wanted - pages_.size()) > pool_->free_count()) return false;
  while (pages_.size() < wanted) pages_.push_back(*pool_->Allocate());
  return true;
}

void PageTable::Truncate(int64_t positions) {
  while (static_cast<int64_t>(pages_.size()) > PagesFor(positions)) {
    pool_->Release(pages_.back());
    pages_.pop_back();
  }
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

bool PageTable::OwnsPage(int64_t index) const { return index >= first_owned_; }

}  // namespace skald::kv
