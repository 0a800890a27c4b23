#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/attention/attention_layout.h"
#include "kernels/attention/variants.h"
#include "kernels/isa/bfloat16.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/soft_cap_ref.h"
#include "kernels/isa/strided_sum_ref.h"
#include "tensor/half.h"

namespace skald::kernels::scalar {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float ReadElement(KvType type, const std::byte* base, int64_t index) {
  if (type != KvType::kF32) {
    uint16_t bits;
    std::memcpy(&bits, base + 2 * index, sizeof(bits));
    return type == KvType::kF16 ? tensor::FloatFromHalf(bits) : tensor::FloatFromBf16(bits);
  }
  float value;
  std::memcpy(&value, base + 4 * index, sizeof(value));
  return value;
}

void WriteElement(KvType type, float value, std::byte* base, int64_t index) {
  if (type != KvType::kF32) {
    const float largest = type == KvType::kF16 ? 65504.0f : kLargestBFloat16;
    if (value > largest) value = largest;  // neither comparison holds for a NaN
    if (value < -largest) value = -largest;
    const uint16_t bits =
        type == KvType::kF16 ? tensor::HalfFromFloat(value) : tensor::Bf16FromFloat(value);
    std::memcpy(base + 2 * index, &bits, sizeof(bits));
  } else {
    std::memcpy(base + 4 * index, &value, sizeof(value));
  }
}

// One row of the attention matrix. m, l and o are named as in numerics 3.7.
struct Row {
  const float* query = nullptr;  // scaled
  float m = -kInfinity;
  float l = 0;
  float* o = nullptr;  // value_dim
  int64_t position = 0;
  float slope = 0;  // or 0
};

float KeyElement(const PagedKv& kv, int64_t position, int d) {
  const int64_t index = int64_t{d} * kKeyTileTokens + position % kKeyTileTokens;
  return ReadElement(kv.type, KeyTileOf(kv, position), index);
}

float ValueElement(const PagedKv& kv, int64_t position, int d) {
  if (kv.values == ValuePlace::kInKeys) return KeyElement(kv, position, d);
  return ReadElement(kv.type, ValueRowOf(kv, position), d);
}

float Score(const PagedKv& kv, const float* query, int64_t position) {
  float acc = 0;
  for (int d = 0; d < kv.key_dim; ++d) {
    acc = std::fma(KeyElement(kv, position, d), query[d], acc);
  }
  return acc;
}

// Merges the positions of `visible`, which lie in one partition, into the row.
//   e, partial   room for kPartitionTokens and value_dim floats
void AttendPartition(const AttentionArgs& args, PositionRange visible, Row& row, float* e,
                     float* partial) {
  const PagedKv& kv = args.kv;
  constexpr int kWidth = 16;
  float m_p = -kInfinity;
  for (int64_t t = visible.begin; t < visible.end; ++t) {
    float score = Score(kv, row.query, t);
    if (args.soft_cap > 0) score = SoftCapRef(args.soft_cap, score);
    if (args.slopes != nullptr) {
      score = std::fma(-row.slope, static_cast<float>(std::abs(row.position - t)), score);
    }
    if (score > m_p) m_p = score;
    e[t - visible.begin] = score;
  }
  float sums[kWidth] = {};
  for (int64_t t = visible.begin; t < visible.end; ++t) {
    float& e_t = e[t - visible.begin];
    e_t = ExpRef(e_t - m_p);
    sums[t % kWidth] = sums[t % kWidth] + e_t;
  }
  const float l_p = FoldRef(sums, kWidth);
  for (int d = 0; d < kv.value_dim; ++d) {
    float acc = 0;
    for (int64_t t = visible.begin; t < visible.end; ++t) {
      acc = std::fma(ValueElement(kv, t, d), e[t - visible.begin], acc);
    }
    partial[d] = acc;
  }
  const float maximum = m_p > row.m ? m_p : row.m;
  const float a = ExpRef(row.m - maximum);
  const float b = ExpRef(m_p - maximum);
  row.l = std::fma(row.l, a, l_p * b);
  for (int d = 0; d < kv.value_dim; ++d) row.o[d] = std::fma(row.o[d], a, partial[d] * b);
  row.m = maximum;
}

}  // namespace

void Attention(const AttentionArgs& args) {
  const PagedKv& kv = args.kv;
  const AttentionScratch layout = LayOutScratch(kv.key_dim, kv.value_dim, args.group);
  float* query = args.scratch + layout.query;
  for (int64_t i = 0; i < args.tokens * args.group; ++i) {
    const int64_t token = i / args.group;
    const int64_t head = i % args.group;
    const float* source = args.query + token * args.query_stride + head * kv.key_dim;
    for (int d = 0; d < kv.key_dim; ++d) query[d] = source[d] * args.scale;
    Row row;
    row.query = query;
    row.o = args.scratch + layout.out;
    for (int d = 0; d < kv.value_dim; ++d) row.o[d] = 0;
    if (args.sinks != nullptr) {
      row.m = args.sinks[head];
      row.l = 1;
    }
    row.position = args.first_position + token;
    if (args.slopes != nullptr) row.slope = args.slopes[head];
    const PositionRange seen = VisibleRange(row.position, args);
    for (int64_t p = PartitionStart(seen.begin); p < seen.end; p += kPartitionTokens) {
      AttendPartition(args, CutToPartition(seen, p), row, args.scratch + layout.scores,
                      args.scratch + layout.partial);
    }
    float* out = args.out + token * args.out_stride + head * kv.value_dim;
    for (int d = 0; d < kv.value_dim; ++d) out[d] = row.o[d] / row.l + 0.0f;
  }
}

void AppendKv(const PagedKv& kv, int64_t position, const float* key, const float* value) {
  std::byte* tile = KeyTileOf(kv, position);
  for (int d = 0; d < kv.key_dim; ++d) {
    const int64_t index = int64_t{d} * kKeyTileTokens + position % kKeyTileTokens;
    WriteElement(kv.type, key[d], tile, index);
  }
  if (kv.values == ValuePlace::kInKeys) return;
  std::byte* row = ValueRowOf(kv, position);
  for (int d = 0; d < PaddedValueDim(kv.value_dim); ++d) {
    WriteElement(kv.type, d < kv.value_dim ? value[d] : 0.0f, row, d);
  }
}

}  // namespace skald::kernels::scalar
