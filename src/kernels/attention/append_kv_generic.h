/// AppendKv over a vector type. Include inside a target region (isa/vec_avx512.h says how).
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/isa/bfloat16.h"

namespace skald::kernels {

/// Up to 16 floats as they are written to a cache of T (numerics 2.3): 16-bit types are clamped.
template <typename V>
inline void StoreForCache(V x, float* out) {
  Store(x, out);
}
template <typename V>
inline V Clamp(V x, float largest) {
  // Both pass NaN on: they return their second operand.
  return Min(V::Broadcast(largest), Max(V::Broadcast(-largest), x));
}
template <typename V>
inline void StoreForCache(V x, uint16_t* out) {
  Store(Clamp(x, 65504.0f), out);
}
template <typename V>
inline void StoreForCache(V x, BFloat16* out) {
  Store(Clamp(x, kLargestBFloat16), out);
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
  if (kv.values == ValuePlace::kInKeys) return;
  T* row = reinterpret_cast<T*>(ValueRowOf(kv, position));
  for (int64_t d = 0; d < kv.value_dim; d += 16) {
    StoreForCache(V::LoadPartial(value + d, kv.value_dim - d), row + d);  // zeros behind the end
  }
}

template <typename V>
inline void AppendKvGeneric(const PagedKv& kv, int64_t position, const float* key,
                            const float* value) {
  switch (kv.type) {
    case KvType::kF16: return AppendKvOf<V, uint16_t>(kv, position, key, value);
    case KvType::kBF16: return AppendKvOf<V, BFloat16>(kv, position, key, value);
    case KvType::kF32: return AppendKvOf<V, float>(kv, position, key, value);
  }
}

}  // namespace skald::kernels
