/// KvStore: the bytes of all KV pages. Only the model and the kernels look inside.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "kv/kv_layout.h"
#include "kv/page_id.h"

namespace skald::kv {

/// How many pages there are. Page numbers of the two groups have nothing to do with each other.
struct PageCounts {
  int64_t full = 0;
  int64_t window = 0;

  int64_t of(PageGroup group) const { return group == PageGroup::kFull ? full : window; }
};

class KvStore {
 public:
  /// Reserves pages, zero. Requires layout.IsAllowed(). Errors: kResourceExhausted with the number
  /// of bytes.
  static Result<KvStore> Create(const KvLayout& layout, const PageCounts& counts);
  /// As many pages for all layers.
  static Result<KvStore> Create(const KvLayout& layout, int64_t page_count) {
    return Create(layout, PageCounts{.full = page_count, .window = page_count});
  }

  const KvLayout& layout() const { return layout_; }
  int64_t bytes() const { return static_cast<int64_t>(arena_.size()); }

  /// One KV head of one layer, seen through a page table. `pages` must stay valid while the view is
  /// used.
  kernels::PagedKv View(int64_t layer, int64_t head, const PageLists& pages);

  /// Carries out a copy that PageTable::PrepareWrite asked for, in all layers. Moves whole pages:
  /// the positions of a page are interleaved (K is transposed), and one block copy a layer costs
  /// less than picking some out. Must not run while a step does.
  void CopyPage(const PageCopy& copy);

  /// Has the system give memory to some 2 MiB more of the first `pages` pages of each group. Others
  /// get theirs at the first touch: within a step, and where pages of all layers begin a huge page
  /// at once, all of these in one step. False: all have theirs. Must not run while a step does.
  bool CommitNext(int64_t pages);

  /// Bytes of the parts of a page that are named.
  int64_t page_bytes(const PageParts& parts) const {
    return (parts.full == kNoPage ? 0 : layout_.page_bytes(PageGroup::kFull)) +
           (parts.window == kNoPage ? 0 : layout_.page_bytes(PageGroup::kWindow));
  }
  /// Copies these out, and back in: all their layers, one after the other. `bytes` are
  /// page_bytes(parts). A page that is loaded has the bits of the one saved.
  void SavePage(const PageParts& parts, std::span<std::byte> bytes);
  void LoadPage(const PageParts& parts, std::span<const std::byte> bytes);

  /// Fills a page of a group, or those of both, with NaN. For tests: a read of a stale page shows
  /// at once.
  void Poison(PageGroup group, PageId page);
  void Poison(PageId page) {
    Poison(PageGroup::kFull, page);
    Poison(PageGroup::kWindow, page);
  }

 private:
  KvStore(const KvLayout& layout, const PageCounts& counts, AlignedBuffer arena);

  /// The part of a page that is a layer's.
  std::span<std::byte> LayerPage(size_t layer, PageId page);
  /// The same of the parts that are named; empty where the layer's is not.
  std::span<std::byte> LayerPage(size_t layer, const PageParts& parts);

  KvLayout layout_;
  PageCounts counts_;
  std::vector<int64_t> layer_starts_;  // bytes of the arena before each layer
  std::vector<int64_t> committed_;     // pages of each layer, by CommitNext
  AlignedBuffer arena_;
};

}  // namespace skald::kv
