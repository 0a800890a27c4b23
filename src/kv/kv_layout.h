/// KvLayout: where in the arena each page, layer, head, K and V lies. Pure arithmetic.
///
///     arena   [layer][page][kv_head]{ K | V }         the layouts of K and V:
///     kernels/attention/attention.h
///
/// Layers are outermost, because a layer reads all pages of its sequences and nothing of the other
/// layers. They may differ in their shapes, and in how many pages they have: layers with windows
/// need fewer (PageGroup).
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked_math.h"
#include "kernels/attention/attention.h"
#include "skald/status.h"

namespace skald::kv {

/// Which of the pages of a sequence a layer keeps.
enum class PageGroup : uint8_t {
  kFull,    ///< all of them
  kWindow,  ///< those that rows to come can see (KvLayout::window)
};

/// What a layer keeps of every position.
struct KvShape {
  int64_t kv_heads = 0;
  int key_dim = 0;
  int value_dim = 0;
  kernels::ValuePlace values = kernels::ValuePlace::kOwn;
  /// Set by the layout: it depends on all layers that read this one's K and V.
  PageGroup group = PageGroup::kFull;

  bool operator==(const KvShape&) const = default;
  /// True of a layer that carries a state instead, or reads what another keeps.
  bool IsNone() const { return kv_heads == 0; }
  /// Bytes of K and V of one page of one head.
  int64_t head_bytes(kernels::KvTypes types) const {
    const int64_t key_bytes = kernels::KeyPageBytes(types.keys, key_dim);
    if (values == kernels::ValuePlace::kInKeys) return key_bytes;
    return key_bytes + kernels::ValuePageBytes(types.values, value_dim);
  }
  /// Bytes of one page.
  int64_t page_bytes(kernels::KvTypes types) const { return kv_heads * head_bytes(types); }
  int64_t position_bytes(kernels::KvTypes types) const {
    return page_bytes(types) / kernels::kPageTokens;
  }
  /// False of values that lie in keys, where keys would be integers: a value cannot be taken out of
  /// a key that was rotated as a whole.
  bool Allows(kernels::KvTypes types) const {
    return values == kernels::ValuePlace::kOwn || !kernels::IsQuantized(types.keys);
  }

  int64_t key_offset(kernels::KvTypes types, int64_t head) const {
    return head * head_bytes(types);
  }
  /// Of values of their own.
  int64_t value_offset(kernels::KvTypes types, int64_t head) const {
    return key_offset(types, head) + kernels::KeyPageBytes(types.keys, key_dim);
  }
};

struct KvLayout {
  kernels::KvTypes types = {};
  std::vector<KvShape> layers = {};
  /// Positions that a row sees of layers of PageGroup::kWindow at most, its own included; 0: there
  /// are no such layers.
  int64_t window = 0;
  /// The first positions, which rows see of these layers besides (endless texts).
  int64_t pinned = 0;

  /// Bytes of one page in the layers of a group, and in all.
  int64_t page_bytes(PageGroup group) const {
    int64_t bytes = 0;
    for (const KvShape& layer : layers) {
      if (layer.group == group) bytes += layer.page_bytes(types);
    }
    return bytes;
  }
  int64_t page_bytes() const {
    return page_bytes(PageGroup::kFull) + page_bytes(PageGroup::kWindow);
  }
  bool IsAllowed() const {
    for (const KvShape& layer : layers) {
      if (!layer.Allows(types)) return false;
    }
    return true;
  }
  /// Bytes of one position in all layers.
  int64_t position_bytes() const { return page_bytes() / kernels::kPageTokens; }
};

}  // namespace skald::kv
