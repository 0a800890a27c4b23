/// AppendKv over a vector type. Include inside a target region (isa/vec_avx512.h says how).
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/attention/quantize_head_generic.h"
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
inline void AppendKeyOf(const PagedKv& kv, int64_t position, const float* key) {
  T* column = reinterpret_cast<T*>(KeyTileOf(kv, position)) + position % kKeyTileTokens;
  for (int64_t d = 0; d < kv.key_dim; d += 16) {
    alignas(64) T converted[16];
    StoreForCache(V::LoadPartial(key + d, kv.key_dim - d), converted);
    for (int64_t i = 0; i < 16 && d + i < kv.key_dim; ++i) {
      column[(d + i) * kKeyTileTokens] = converted[i];
    }
  }
}

template <typename V, typename T>
inline void AppendValueOf(const PagedKv& kv, int64_t position, const float* value) {
  T* row = reinterpret_cast<T*>(ValueRowOf(kv, position));
  for (int64_t d = 0; d < kv.value_dim; d += 16) {
    StoreForCache(V::LoadPartial(value + d, kv.value_dim - d), row + d);  // zeros behind the end
  }
}

template <typename V>
inline void AppendQuantizedKey(const PagedKv& kv, int64_t position, const float* key) {
  QuantizedHead head;
  const BFloat16 scale = QuantizeHead<V>(kv.types.keys, key, kv.key_dim, head);
  WriteKeyIntegers(kv, head.q, position % kKeyTileTokens, KeyTileOf(kv, position));
  reinterpret_cast<BFloat16*>(KeyScalesOf(kv, position))[position % kPageTokens] = scale;
}

template <typename V>
inline void AppendQuantizedValue(const PagedKv& kv, int64_t position, const float* value) {
  QuantizedHead head;
  const BFloat16 scale = QuantizeHead<V>(kv.types.values, value, kv.value_dim, head);
  WriteValueIntegers(kv, head.q, ValueRowOf(kv, position));
  reinterpret_cast<BFloat16*>(ValueScalesOf(kv, position))[position % kPageTokens] = scale;
}

template <typename V>
inline void AppendKvGeneric(const PagedKv& kv, int64_t position, const float* key,
                            const float* value) {
  switch (kv.types.keys) {
    case KvType::kF16: AppendKeyOf<V, uint16_t>(kv, position, key); break;
    case KvType::kBF16: AppendKeyOf<V, BFloat16>(kv, position, key); break;
    case KvType::kF32: AppendKeyOf<V, float>(kv, position, key); break;
    case KvType::kQ8:
    case KvType::kQ4: AppendQuantizedKey<V>(kv, position, key); break;
  }
  if (kv.values == ValuePlace::kInKeys) return;
  switch (kv.types.values) {
    case KvType::kF16: AppendValueOf<V, uint16_t>(kv, position, value); break;
    case KvType::kBF16: AppendValueOf<V, BFloat16>(kv, position, value); break;
    case KvType::kF32: AppendValueOf<V, float>(kv, position, value); break;
    case KvType::kQ8:
    case KvType::kQ4: AppendQuantizedValue<V>(kv, position, value); break;
  }
}

}  // namespace skald::kernels
