/// AppendKv over a vector type. Include inside a target region (isa/vec_avx512.h says how).
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"

namespace skald::kernels {

/// Up to 16 floats as they are written to a cache of T (numerics 2.3): halves are clamped.
template <typename V>
inline void StoreForCache(V x, float* out) {
  Store(x, out);
}
template <typename V>
inline void StoreForCache(V x, uint16_t* out) {
  // Both pass NaN on: they return their second operand.
  const V above = Max(V::Broadcast(-65504.0f), x);
  Store(Min(V::Broadcast(65504.0f), above), out);
}

template <typename V, typename T>
inline void AppendKvOf(const PagedKv& kv, int64_t position, const float* key, const float* value) {
  T* column = reinterpret_cast<T*>(KeyTileOf(kv, position)) + position % kKeyTileTokens;
  for (int64_t d = 0; d < kv.key_dim; d += 16) {
    alignas(64) T converted[16];
    StoreForCache(V::LoadPartial(key + d, kv.key_dim - d), converted);
    for (int64_t i = 0; i < 16 && d + i < kv.key_dim; ++i) {
      column[(d + i) * kKeyTileTokens] = converted[i];
    }
  }
  T* row = reinterpret_cast<T*>(ValueRowOf(kv, position));
  for (int64_t d = 0; d < kv.value_dim; d += 16) {
    StoreForCache(V::LoadPartial(value + d, kv.value_dim - d), row + d);  // zeros behind the end
  }
}

template <typename V>
inline void AppendKvGeneric(const PagedKv& kv, int64_t position, const float* key,
                            const float* value) {
  if (kv.type == KvType::kF16) {
    AppendKvOf<V, uint16_t>(kv, position, key, value);
  } else {
    AppendKvOf<V, float>(kv, position, key, value);
  }
}

}  // namespace skald::kernels
