#include "kv/page_pool.h"

#include <limits>

#include "base/check.h"

namespace skald::kv {

PagePool::PagePool(int64_t page_count) {
  CHECK(page_count >= 0 && page_count <= std::numeric_limits<PageId>::max());
  references_.resize(static_cast<size_t>(page_count), 0);
  free_.reserve(static_cast<size_t>(page_count));
  // Lowest page first: early requests use the start of the arena, the rest stays untouched.
  for (int64_t page = page_count; page > 0; --page) {
    free_.push_back(static_cast<PageId>(page - 1));
  }
}

std::optional<PageId> PagePool::Allocate() {
  if (free_.empty()) return std::nullopt;
  const PageId page = free_.back();
  free_.pop_back();
  references_[static_cast<size_t>(page)] = 1;
  return page;
}

void PagePool::AddReference(PageId page) {
  CHECK(reference_count(page) > 0);
  ++references_[static_cast<size_t>(page)];
}

void PagePool::Release(PageId page) {
  CHECK(reference_count(page) > 0);
  if (--references_[static_cast<size_t>(page)] == 0) free_.push_back(page);
}

bool PagePool::IsWritable(PageId page) const { return reference_count(page) == 1; }

int32_t PagePool::reference_count(PageId page) const {
  CHECK(page >= 0 && page < total_count());
  return references_[static_cast<size_t>(page)];
}

}  // namespace skald::kv
