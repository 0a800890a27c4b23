#include "kv/kv_store.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace skald::kv {

KvStore::KvStore(const KvLayout& layout, int64_t page_count, AlignedBuffer arena)
    : layout_(layout), page_count_(page_count), arena_(std::move(arena)) {
  int64_t start = 0;
  for (const KvShape& layer : layout_.layers) {
    layer_starts_.push_back(start);
    start += page_count_ * layer.page_bytes(layout_.types);
  }
}

Result<KvStore> KvStore::Create(const KvLayout& layout, int64_t page_count) {
  CHECK(layout.IsAllowed());
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
  DCHECK(layer >= 0 && layer < static_cast<int64_t>(layout_.layers.size()));
  const KvShape& shape = layout_.layers[static_cast<size_t>(layer)];
  DCHECK(head >= 0 && head < shape.kv_heads);
  kernels::PagedKv view;
  view.types = layout_.types;
  view.arena = arena_.data() + layer_starts_[static_cast<size_t>(layer)];
  view.page_stride = shape.page_bytes(layout_.types);
  view.key_offset = shape.key_offset(layout_.types, head);
  view.value_offset = shape.values == kernels::ValuePlace::kOwn
                          ? shape.value_offset(layout_.types, head)
                          : view.key_offset;
  view.pages = pages.data();
  view.key_dim = shape.key_dim;
  view.value_dim = shape.value_dim;
  view.values = shape.values;
  return view;
}

std::span<std::byte> KvStore::LayerPage(size_t layer, PageId page) {
  const int64_t bytes = layout_.layers[layer].page_bytes(layout_.types);
  return {arena_.data() + layer_starts_[layer] + page * bytes, static_cast<size_t>(bytes)};
}

void KvStore::CopyPage(const PageCopy& copy) {
  CHECK(copy.from >= 0 && copy.from < page_count_ && copy.to >= 0 && copy.to < page_count_);
  CHECK(copy.from != copy.to);
  for (size_t layer = 0; layer < layout_.layers.size(); ++layer) {
    const std::span<std::byte> from = LayerPage(layer, copy.from);
    std::memcpy(LayerPage(layer, copy.to).data(), from.data(), from.size());
  }
}

void KvStore::Poison(PageId page) {
  CHECK(page >= 0 && page < page_count_);
  for (size_t layer = 0; layer < layout_.layers.size(); ++layer) {
    const std::span<std::byte> part = LayerPage(layer, page);
    // All bits set is a NaN in half, bfloat16 (scales) and float.
    std::memset(part.data(), 0xff, part.size());
  }
}

}  // namespace skald::kv
