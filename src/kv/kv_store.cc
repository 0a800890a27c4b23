#include "kv/kv_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace skald::kv {

KvStore::KvStore(const KvLayout& layout, const PageCounts& counts, AlignedBuffer arena)
    : layout_(layout), counts_(counts), arena_(std::move(arena)) {
  int64_t start = 0;
  for (const KvShape& layer : layout_.layers) {
    layer_starts_.push_back(start);
    committed_.push_back(0);
    start += counts_.of(layer.group) * layer.page_bytes(layout_.types);
  }
}

Result<KvStore> KvStore::Create(const KvLayout& layout, const PageCounts& counts) {
  CHECK(layout.IsAllowed());
  const auto bytes_of = [&](PageGroup group) {
    return CheckedU64(static_cast<uint64_t>(layout.page_bytes(group)))
        .Mul(static_cast<uint64_t>(counts.of(group)));
  };
  const auto bytes = bytes_of(PageGroup::kFull).Add(bytes_of(PageGroup::kWindow)).value();
  if (!bytes) {
    return Status(ErrorCode::kResourceExhausted, "the KV cache is larger than the address space");
  }
  auto arena = AlignedBuffer::Create(*bytes);
  if (!arena.ok()) return std::move(arena).status().WithContext("KV cache");
  return KvStore(layout, counts, *std::move(arena));
}

kernels::PagedKv KvStore::View(int64_t layer, int64_t head, const PageLists& pages) {
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
  view.pages = (shape.group == PageGroup::kFull ? pages.full : pages.window).data();
  view.key_dim = shape.key_dim;
  view.value_dim = shape.value_dim;
  view.values = shape.values;
  return view;
}

// Those layers first that have fewest: a page is of use when all layers have it.
bool KvStore::CommitNext(int64_t pages) {
  const auto left = [&](size_t layer) {
    const KvShape& shape = layout_.layers[layer];
    return shape.IsNone() ? 0 : std::min(pages, counts_.of(shape.group)) - committed_[layer];
  };
  size_t next = committed_.size();
  for (size_t layer = 0; layer < committed_.size(); ++layer) {
    if (left(layer) <= 0) continue;
    if (next == committed_.size() || committed_[layer] < committed_[next]) next = layer;
  }
  if (next == committed_.size()) return false;
  const int64_t page_bytes = layout_.layers[next].page_bytes(layout_.types);
  const int64_t count = std::min(left(next), std::max<int64_t>(1, kHugePageBytes / page_bytes));
  arena_.Commit(static_cast<uint64_t>(layer_starts_[next] + committed_[next] * page_bytes),
                static_cast<uint64_t>(count * page_bytes));
  committed_[next] += count;
  return true;
}

std::span<std::byte> KvStore::LayerPage(size_t layer, PageId page) {
  CHECK(page >= 0 && page < counts_.of(layout_.layers[layer].group));
  const int64_t bytes = layout_.layers[layer].page_bytes(layout_.types);
  return {arena_.data() + layer_starts_[layer] + page * bytes, static_cast<size_t>(bytes)};
}

void KvStore::CopyPage(const PageCopy& copy) {
  const bool own_windows = copy.window_from != kNoPage;
  for (size_t layer = 0; layer < layout_.layers.size(); ++layer) {
    const bool windowed = own_windows && layout_.layers[layer].group == PageGroup::kWindow;
    const std::span<std::byte> from = LayerPage(layer, windowed ? copy.window_from : copy.from);
    const std::span<std::byte> to = LayerPage(layer, windowed ? copy.window_to : copy.to);
    CHECK(from.data() != to.data() || from.empty());
    std::memcpy(to.data(), from.data(), from.size());
  }
}

std::span<std::byte> KvStore::LayerPage(size_t layer, const PageParts& parts) {
  const bool windowed = layout_.layers[layer].group == PageGroup::kWindow;
  const PageId page = windowed ? parts.window : parts.full;
  return page == kNoPage ? std::span<std::byte>() : LayerPage(layer, page);
}

void KvStore::SavePage(const PageParts& parts, std::span<std::byte> bytes) {
  CHECK(static_cast<int64_t>(bytes.size()) == page_bytes(parts));
  for (size_t layer = 0; layer < layout_.layers.size(); ++layer) {
    const std::span<std::byte> part = LayerPage(layer, parts);
    if (!part.empty()) std::memcpy(bytes.data(), part.data(), part.size());
    bytes = bytes.subspan(part.size());
  }
}

void KvStore::LoadPage(const PageParts& parts, std::span<const std::byte> bytes) {
  CHECK(static_cast<int64_t>(bytes.size()) == page_bytes(parts));
  for (size_t layer = 0; layer < layout_.layers.size(); ++layer) {
    const std::span<std::byte> part = LayerPage(layer, parts);
    if (!part.empty()) std::memcpy(part.data(), bytes.data(), part.size());
    bytes = bytes.subspan(part.size());
  }
}

void KvStore::Poison(PageGroup group, PageId page) {
  for (size_t layer = 0; layer < layout_.layers.size(); ++layer) {
    if (layout_.layers[layer].group != group) continue;
    const std::span<std::byte> part = LayerPage(layer, page);
    // All bits set is a NaN in half, bfloat16 (scales) and float.
    std::memset(part.data(), 0xff, part.size());
  }
}

}  // namespace skald::kv
