/// PagePool: who holds which KV page. Integers only; the bytes are in kv_store.h.
///
/// A page has a reference count. It is free at 0, writable by its only holder at 1, and read-only
/// above: whoever wants to write a shared page copies it first. Accounting is conserved: free +
/// held = total, always.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kv/page_id.h"

namespace skald::kv {

/// Not thread-safe: the engine thread owns it. All memory is taken at construction.
class PagePool {
 public:
  /// A pool of `page_count` >= 0 free pages.
  explicit PagePool(int64_t page_count);

  /// Takes a free page with one reference, or nothing if none is left. O(1).
  std::optional<PageId> Allocate();

  /// Adds a reference to a held page.
  void AddReference(PageId page);

  /// Drops a reference of a held page; the page becomes free with the last one. O(1).
  void Release(PageId page);

  /// True if the page has exactly one holder, who may write it.
  bool IsWritable(PageId page) const;

  int32_t reference_count(PageId page) const;
  int64_t free_count() const { return static_cast<int64_t>(free_.size()); }
  int64_t total_count() const { return static_cast<int64_t>(references_.size()); }

 private:
  std::vector<PageId> free_;         // a stack: the page freed last is still warm in the cache
  std::vector<int32_t> references_;  // by page
};

}  // namespace skald::kv
