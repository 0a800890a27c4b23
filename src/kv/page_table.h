/// PageTable: the pages of one sequence, in the order of its positions, and who may write them.
///
/// Pages are shared to the token, while they are still being filled. The rule:
///
///   1. A position that anybody else can see is never written again, by nobody. Others see the
///      positions of a table that were forked or inserted into the prefix tree: its first
///      shared_positions().
///   2. The positions of a page behind those belong to one table, the page's owner: the one that
///      took the page from the pool. It writes them in place, however many others read the front.
///   3. Any other table that wants to write in that page copies its own front of it (1 to 31
///      positions) into a page taken from the pool, and owns the copy. If it turns out to be the
///      only holder left, it becomes the owner without a copy.
///   4. An owner that lets its page go, or goes back behind what others see, is owner no more.
///      Nobody writes that page again until it has a single holder.
///
///     position            0         20      27      31
///     page 7          [ a a a a a a a b b b . . . . ]
///     A, owner          sees all 27, writes 27 next, in place
///     prefix tree       20 of page 7 (27 after A's next Insert)
///     B                 matched 20: sees a, reads page 7, wants to write its own position 20
///     page 9          [ a a a a a a a . . . . . . . ]   PageCopy{7, 9, 20}: B owns page 9
///
/// So a running sequence never copies because others join it; a request that waits for a prefix
/// which another one is still computing can join at any token of it, and copies one page at most.
/// Readers and the owner touch different bytes of the page: no order between them matters.
///
/// Where there are window pages (kv/window_pool.h), a table has those of its pages in use that its
/// next row sees, and all behind; ForgetBehind moves on. Those with pinned positions stay.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/page_id.h"
#include "kv/page_pool.h"

namespace skald::kv {

/// Positions 32 i .. 32 i + 31 of the sequence live in page i of the table. The table holds one
/// reference of each of its pages, taken from and given back to the pool it was made for.
/// Move-only: a copy would need references of its own (Fork).
class PageTable {
 public:
  /// An empty table of at most `max_positions` positions. The pool must outlive it.
  PageTable(PagePool* pool, int64_t max_positions);
  ~PageTable();
  PageTable(PageTable&& other) noexcept;
  PageTable& operator=(PageTable&& other) noexcept;
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  /// Fills an empty table with the pages of the first `positions` positions of somebody else, with
  /// a reference of its own for each: ceil(positions / 32) pages. Those that the row at `positions`
  /// sees must have their window pages. O(pages), allocates nothing.
  void Adopt(std::span<const PageId> pages, int64_t positions);
  /// The same, of which no row will ever see anything: window pages are left alone.
  void AdoptUnseen(std::span<const PageId> pages, int64_t positions);

  /// A second table that shares the first `positions` positions of this one, which must stand in
  /// its pages. Both may go on writing at `positions`: this one in place, the other after a copy.
  /// Takes memory for the new table's list, no pages.
  PageTable Fork(int64_t positions);

  /// Makes the positions [from, to) writable, and forgets whatever stood at `from` or later: pages
  /// behind are given back, missing pages are taken, and if this table does not own the page that
  /// holds both `from` - 1 and `from`, that page is replaced by a copy. The copy is appended to
  /// `*copies` (at most one), and must be carried out, in the order of the list, before any page is
  /// given back or poisoned and before the step writes.
  /// Returns false, with table and list as they were, if the pool has too few pages.
  /// Requires from <= to <= max_positions, and that the table's pages reach `from`. Allocates no
  /// memory beyond `*copies`. O(pages taken and given back).
  [[nodiscard]] bool PrepareWrite(int64_t from, int64_t to, std::vector<PageCopy>* copies);

  /// The number of pages that PrepareWrite(from, to, ...) would take from the pool (the copy
  /// included), less those it gives back to itself. O(1).
  int64_t PagesToWrite(int64_t from, int64_t to) const;

  /// As PrepareWrite(the table's pages, positions) without sharing: takes pages until `positions`
  /// positions have room. Returns false, with the table as it was, if the pool has too few.
  [[nodiscard]] bool Reserve(int64_t positions);

  /// Gives back every page that holds no position below `positions`, which is 0 or behind what
  /// ForgetBehind was told.
  void Truncate(int64_t positions);

  /// Says of the pages that the next row sees that somebody begins there, so that their window
  /// pages stay longer than others. Nothing where there are none.
  void MarkPlace();

  /// Says that no row before `position` will be asked for again: window pages that the row there
  /// does not see go out of use. Nothing where there are none. Amortized O(1) a page.
  void ForgetBehind(int64_t position);
  /// The same of all its pages: nobody sees any of them.
  void ForgetAll();

  /// Takes `page`, which holds the same positions, in place of page `index`, all of whose positions
  /// others may see. Where that is in the window, `page` must have its window page. For
  /// PrefixTree::Unite.
  void TakeShared(int64_t index, PageId page);
  /// Whether the table has the window page of its page `index` in use. Where there are any.
  bool InWindow(int64_t index) const { return index < pinned_ || index >= first_in_window_; }

  /// Says that others can see the first `positions` positions from now on. For PrefixTree::Insert.
  void MarkShared(int64_t positions);

  std::span<const PageId> pages() const { return pages_; }
  /// The pages, and the window pages, for a step.
  PageLists lists() const {
    return pool_->windows().exists() ? PageLists(pages_, window_pages_) : PageLists(pages_);
  }
  /// The first page of the window, whose window page is in use; 0 where there are none.
  int64_t first_in_window() const { return first_in_window_; }
  /// How many leading positions others may see: these are immutable.
  int64_t shared_positions() const { return shared_; }
  /// True if this table may write later positions of its page `index` in place.
  bool OwnsPage(int64_t index) const;

 private:
  void PushNew();
  void PushShared(PageId page);
  void AdoptFrom(std::span<const PageId> pages, int64_t positions);
  void LeaveWindows(int64_t before);
  void LeaveWindow(int64_t index);
  void Pop();
  PageCopy CopyLast(int positions);
  bool HasWindowPagesTo(int64_t from, int64_t to) const;

  PagePool* pool_;
  std::vector<PageId> pages_;
  std::vector<PageId> window_pages_;  // as many, where there are any
  int64_t pinned_ = 0;  // so many pages at the beginning have their window pages in use, too
  int64_t first_in_window_ = 0;
  int64_t shared_ = 0;       // leading positions that others may see
  int64_t first_owned_ = 0;  // pages_[i] is owned from this index on: ownership is a suffix
};

}  // namespace skald::kv
