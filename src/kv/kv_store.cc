#include "kv/kv_store.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace skald::kv {

KvStore::KvStore(const KvLayout& layout, int64_t page_count, AlignedBuffer arena)
    : layout_(layout), page_count_(page_count), arena_(std::move(arena)) {}

Result<KvStore> KvStore::Create(const KvLayout& layout, int64_t page_count) {
  const auto bytes = CheckedU64(static_cast<uint64_t>(layout.page_bytes()))
                         .Mul(static_cast<uint64_t>(page_count))
                         .value();
  if (!bytes) {
    return Status(ErrorCode::kResourceExhausted, "the KV cache is larger than the address space");
  }
  auto arena = AlignedBuffer::Create(*bytes);
  if (!arena.ok()) return std::move(arena).status().WithContext("KV cache");
  return KvStore(layout, page_count, *std::move(arena));
}

kernels::PagedKv KvStore::View(int64_t layer, int64_t head, std::span<const PageId> pages) {
  DCHECK(layer >= 0 && layer < layout_.layers && head >= 0 && head < layout_.kv_heads);
  kernels::PagedKv view;
  view.type = layout_.type;
  view.arena = arena_.data() + layer * page_count_ * layout_.page_stride();
  view.page_stride = layout_.page_stride();
  view.key_offset = layout_.key_offset(head);
  view.value_offset = layout_.value_offset(head);
  view.pages = pages.data();
  view.key_dim = layout_.key_dim;
  view.value_dim = layout_.value_dim;
  return view;
}

void KvStore::CopyPage(const PageCopy& copy) {
  CHECK(copy.from >= 0 && copy.from < page_count_ && copy.to >= 0 && copy.to < page_count_);
  CHECK(copy.from != copy.to);
  for (int64_t layer = 0; layer < layout_.layers; ++layer) {
    std::byte* start = arena_.data() + layer * page_count_ * layout_.page_stride();
    std::memcpy(start + copy.to * layout_.page_stride(), start + copy.from * layout_.page_stride(),
                static_cast<size_t>(layout_.page_stride()));
  }
}

void KvStore::Poison(PageId page) {
  CHECK(page >= 0 && page < page_count_);
  for (int64_t layer = 0; layer < layout_.layers; ++layer) {
    std::byte* start = arena_.data() + (layer * page_count_ + page) * layout_.page_stride();
    // All bits set is a NaN in half and in float.
    std::memset(start, 0xff, static_cast<size_t>(layout_.page_stride()));
  }
}

}  // namespace skald::kv
