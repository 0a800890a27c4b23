/// PageTable: the pages of one sequence, in the order of its positions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/page_id.h"
#include "kv/page_pool.h"

namespace skald::kv {

/// Positions 32 i .. 32 i + 31 of the sequence live in page i of the table. The table holds one
/// reference of each of its pages, taken from and given back to the pool it was made for.
/// Move-only: a copy would need references of its own.
class PageTable {
 public:
  /// An empty table of at most `max_positions` positions. The pool must outlive it.
  PageTable(PagePool* pool, int64_t max_positions);
  ~PageTable();
  PageTable(PageTable&& other) noexcept;
  PageTable& operator=(PageTable&& other) noexcept;
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  /// Takes pages until `positions` positions have room. Returns false, with the table as it was, if
  /// the pool has too few. Requires positions <= max_positions. Allocates no memory.
  [[nodiscard]] bool Reserve(int64_t positions);

  /// Gives back every page that holds no position below `positions`.
  void Truncate(int64_t positions);

  std::span<const PageId> pages() const { return pages_; }

 private:
  PagePool* pool_;
  std::vector<PageId> pages_;
};

}  // namespace skald::kv
