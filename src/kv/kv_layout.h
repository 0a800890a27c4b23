/// KvLayout: where in the arena each page, layer, head, K and V lies. Pure arithmetic.
///
///     arena   [layer][page][kv_head]{ K | V }         the layouts of K and V:
///     kernels/attention/attention.h
///
/// Layers are outermost, because a layer reads all pages of its sequences and nothing of the other
/// layers.
#pragma once

#include <cstdint>

#include "base/checked_math.h"
#include "kernels/attention/attention.h"
#include "skald/status.h"

namespace skald::kv {

struct KvLayout {
  kernels::KvType type = kernels::KvType::kF16;
  int64_t layers = 0;
  int64_t kv_heads = 0;
  int key_dim = 0;
  int value_dim = 0;

  /// Bytes of K and V of one page of one head.
  int64_t head_bytes() const {
    return kernels::KeyPageBytes(type, key_dim) + kernels::ValuePageBytes(type, value_dim);
  }
  /// Bytes of one page in one layer.
  int64_t page_stride() const { return kv_heads * head_bytes(); }
  /// Bytes of one page in all layers: what a page costs.
  int64_t page_bytes() const { return layers * page_stride(); }
  /// Bytes of one position in all layers.
  int64_t position_bytes() const { return page_bytes() / kernels::kPageTokens; }

  int64_t key_offset(int64_t head) const { return head * head_bytes(); }
  int64_t value_offset(int64_t head) const {
    return key_offset(head) + kernels::KeyPageBytes(type, key_dim);
  }
};

}  // namespace skald::kv
