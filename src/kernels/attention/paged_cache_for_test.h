/// A cache of one sequence for tests: pages in random order, every byte poison until it is written,
/// page numbers that lead out of the arena wherever the sequence has no page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/kernels.h"

namespace skald::kernels {

class PagedCacheForTest {
 public:
  /// Room for `positions` positions. The pages hold two KV heads; the cache is the second.
  PagedCacheForTest(KvTypes types, int key_dim, int value_dim, int64_t positions, uint32_t seed = 1,
                    ValuePlace values = ValuePlace::kOwn) {
    const bool own = values == ValuePlace::kOwn;
    const int64_t head_bytes =
        KeyPageBytes(types.keys, key_dim) + (own ? ValuePageBytes(types.values, value_dim) : 0);
    const int64_t page_count = (positions + kPageTokens - 1) / kPageTokens;
    pages_.assign(static_cast<size_t>(page_count + 2), kNoPage);
    std::iota(pages_.begin(), pages_.begin() + page_count, 1);  // page 0 stays unused
    std::shuffle(pages_.begin(), pages_.begin() + page_count, std::mt19937(seed));
    arena_.resize(static_cast<size_t>((page_count + 1) * 2 * head_bytes));
    // 0x7fff is NaN as a half and as a bfloat16 (scales), 0x7fff7fff as a float.
    for (size_t i = 0; i < arena_.size(); ++i) arena_[i] = std::byte(i % 2 == 0 ? 0xff : 0x7f);
    kv_.types = types;
    kv_.arena = arena_.data();
    kv_.page_stride = 2 * head_bytes;
    kv_.key_offset = head_bytes;
    kv_.value_offset = head_bytes + KeyPageBytes(types.keys, key_dim);
    kv_.pages = pages_.data();
    kv_.key_dim = key_dim;
    kv_.value_dim = value_dim;
    kv_.values = values;
  }
  PagedCacheForTest(const PagedCacheForTest&) = delete;
  PagedCacheForTest& operator=(const PagedCacheForTest&) = delete;

  const PagedKv& kv() const { return kv_; }
  const std::vector<std::byte>& bytes() const { return arena_; }

  void Append(Isa isa, int64_t position, const std::vector<float>& key,
              const std::vector<float>& value) {
    TableFor(isa).append_kv(kv_, position, key.data(), value.data());
  }

  /// Overwrites the padding of the V row of `position`, if there is one, with NaN.
  void PoisonPadding(int64_t position) {
    if (kv_.values == ValuePlace::kInKeys) return;
    const KvType type = kv_.types.values;
    const int64_t row_bytes = ValueRowBytes(type, kv_.value_dim);
    const int64_t step = IsQuantized(type) ? 2 : 1;  // bytes of two rows take turns
    std::byte* row = ValueRowOf(kv_, position);
    for (int64_t i = (kv_.value_dim * KvElementBits(type) + 7) / 8; i < row_bytes; ++i) {
      row[step * i] = std::byte(i % 2 == 0 ? 0xff : 0x7f);
    }
  }

  /// Takes the page of `position` away: whoever still uses it leaves the arena.
  void DropPage(int64_t position) { pages_[static_cast<size_t>(position / kPageTokens)] = kNoPage; }

 private:
  static constexpr int32_t kNoPage = -1'000'000'000;

  std::vector<std::byte> arena_;
  std::vector<int32_t> pages_;
  PagedKv kv_;
};

/// Scratch for one call, poisoned.
class ScratchForTest {
 public:
  ScratchForTest(int key_dim, int value_dim, int group)
      : floats_(static_cast<size_t>(AttentionScratchFloats(key_dim, value_dim, group) + 16),
                std::numeric_limits<float>::quiet_NaN()) {}
  float* data() {
    const uintptr_t address = reinterpret_cast<uintptr_t>(floats_.data());
    return reinterpret_cast<float*>((address + 63) / 64 * 64);
  }

 private:
  std::vector<float> floats_;
};

}  // namespace skald::kernels
