/// KvLayout: where in the arena each page, layer, head, K and V lies. Pure arithmetic.
///
///     arena   [layer][page][kv_head]{ K | V }         the layouts of K and V:
///     kernels/attention/attention.h
///
/// Layers are outermost, because a layer reads all pages of its sequences and nothing of the other
/// layers. They may differ in their shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked_math.h"
#include "kernels/attention/attention.h"
#include "skald/status.h"

namespace skald::kv {

/// What a layer keeps of every position.
struct KvShape {
  int64_t kv_heads = 0;
  int key_dim = 0;
  int value_dim = 0;
  kernels::ValuePlace values = kernels::ValuePlace::kOwn;

  bool operator==(const KvShape&) const = default;
  /// True of a layer that carries a state instead, or reads what another keeps.
  bool IsNone() const { return kv_heads == 0; }
  /// Bytes of K and V of one page of one head.
  int64_t head_bytes(kernels::KvType type) const {
    const int64_t key_bytes = kernels::KeyPageBytes(type, key_dim);
    if (values == kernels::ValuePlace::kInKeys) return key_bytes;
    return key_bytes + kernels::ValuePageBytes(type, value_dim);
  }
  /// Bytes of one page.
  int64_t page_bytes(kernels::KvType type) const { return kv_heads * head_bytes(type); }
  int64_t position_bytes(kernels::KvType type) const {
    return page_bytes(type) / kernels::kPageTokens;
  }

  int64_t key_offset(kernels::KvType type, int64_t head) const { return head * head_bytes(type); }
  /// Of values of their own.
  int64_t value_offset(kernels::KvType type, int64_t head) const {
    return key_offset(type, head) + kernels::KeyPageBytes(type, key_dim);
  }
};

struct KvLayout {
  kernels::KvType type = kernels::KvType::kF16;
  std::vector<KvShape> layers = {};

  /// Bytes of one page in all layers: what a page costs.
  int64_t page_bytes() const {
    int64_t bytes = 0;
    for (const KvShape& layer : layers) bytes += layer.page_bytes(type);
    return bytes;
  }
  /// Bytes of one position in all layers.
  int64_t position_bytes() const { return page_bytes() / kernels::kPageTokens; }
};

}  // namespace skald::kv
