#include "kv/page_table.h"

#include <utility>

#include "base/check.h"
#include "base/checked_math.h"
#include "kernels/attention/attention.h"

namespace skald::kv {

PageTable::PageTable(PagePool* pool, int64_t max_positions) : pool_(pool) {
  CHECK(max_positions >= 0);
  pages_.reserve(static_cast<size_t>(DivCeil<int64_t>(max_positions, kernels::kPageTokens)));
}

PageTable::~PageTable() { Truncate(0); }

PageTable::PageTable(PageTable&& other) noexcept
    : pool_(other.pool_), pages_(std::exchange(other.pages_, {})) {}

PageTable& PageTable::operator=(PageTable&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(pages_, other.pages_);
  return *this;
}

bool PageTable::Reserve(int64_t positions) {
  const auto wanted = static_cast<size_t>(DivCeil<int64_t>(positions, kernels::kPageTokens));
  CHECK(wanted <= pages_.capacity());
  if (wanted <= pages_.size()) return true;
  if (static_cast<int64_t>(wanted - pages_.size()) > pool_->free_count()) return false;
  while (pages_.size() < wanted) pages_.push_back(*pool_->Allocate());
  return true;
}

void PageTable::Truncate(int64_t positions) {
  const auto kept = static_cast<size_t>(DivCeil<int64_t>(positions, kernels::kPageTokens));
  while (pages_.size() > kept) {
    pool_->Release(pages_.back());
    pages_.pop_back();
  }
}

}  // namespace skald::kv
