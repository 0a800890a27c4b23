#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/attention/attention_weights.h"
#include "kernels/attention/kv_scale.h"
#include "kernels/attention/rotate_ref.h"
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

// The nearest integer, ties to even, for |x| <= 2^22: adding 1.5 * 2^23 moves the last bit of the
// float to the units, so the addition rounds.
float RoundToEven(float x) {
  constexpr float kShifter = 0x1.8p23f;
  return x + kShifter - kShifter;
}

HeadRange RangeOf(const float* x, int n) {
  HeadRange range;
  for (int d = 0; d < n; ++d) {
    if (!(std::abs(x[d]) <= std::numeric_limits<float>::max())) range.finite = false;
    if (x[d] < range.least) range.least = x[d];
    if (x[d] > range.largest) range.largest = x[d];
  }
  return range;
}

// A head as integers, zeros behind them.
struct Integers {
  float rotated[kMaxQuantizedDim];
  int8_t q[kMaxQuantizedDim + 16] = {};
};

void Round(const float* x, int n, float inverse, float largest, int8_t* q) {
  if (inverse == 0) return;
  for (int d = 0; d < n; ++d) {
    const float rounded = RoundToEven(x[d] * inverse);
    q[d] = static_cast<int8_t>(rounded > largest ? largest : rounded);
  }
}

BFloat16 QuantizeHead(KvType type, const float* x, int n, Integers& head) {
  std::copy_n(x, n, head.rotated);
  RotateRef(head.rotated, n);
  const KvScale scale = ScaleOf(type, RangeOf(head.rotated, n));
  Round(head.rotated, n, scale.inverse, LargestInteger(type), head.q);
  return scale.scale;
}

float ScaleAt(const std::byte* scales, int64_t position) {
  BFloat16 scale;
  std::memcpy(&scale, scales + 2 * (position % kPageTokens), sizeof(scale));
  return FloatOf(scale);
}

void WriteScale(BFloat16 scale, std::byte* scales, int64_t position) {
  std::memcpy(scales + 2 * (position % kPageTokens), &scale, sizeof(scale));
}

// The integer of nibble 0 or 1 of a byte.
int NibbleOf(std::byte pair, int64_t which) {
  return (std::to_integer<int>(pair) >> (4 * which) & 0xf) - 8;
}

int KeyInteger(const PagedKv& kv, int64_t position, int64_t d) {
  const std::byte* token = KeyTileOf(kv, position) + 4 * (position % kKeyTileTokens);
  constexpr int64_t kLine = 4 * kKeyTileTokens;
  if (kv.types.keys == KvType::kQ8) {
    return std::to_integer<int>(token[d / 4 * kLine + d % 4]) - 128;
  }
  return NibbleOf(token[d / 8 * kLine + d % 4], d % 8 / 4);
}

int ValueInteger(const PagedKv& kv, int64_t position, int64_t d) {
  const std::byte* row = ValueRowOf(kv, position);
  if (kv.types.values == KvType::kQ4) return NibbleOf(row[d / 2 * 2], d % 2);
  return static_cast<int8_t>(std::to_integer<uint8_t>(row[2 * d]));
}

// One row of the attention matrix. m, l and o are named as in numerics 3.7.
struct Row {
  const float* query = nullptr;  // scaled
  // Where keys are quantized, in place of it (numerics 3.20):
  float query_scale = 0;
  int8_t integers[kMaxQuantizedDim] = {};
  float m = -kInfinity;
  float l = 0;
  float* o = nullptr;  // value_dim
  int64_t position = 0;
  float slope = 0;  // or 0
};

float KeyElement(const PagedKv& kv, int64_t position, int d) {
  const int64_t index = int64_t{d} * kKeyTileTokens + position % kKeyTileTokens;
  return ReadElement(kv.types.keys, KeyTileOf(kv, position), index);
}

float ValueElement(const PagedKv& kv, int64_t position, int d) {
  if (kv.values == ValuePlace::kInKeys) return KeyElement(kv, position, d);
  return ReadElement(kv.types.values, ValueRowOf(kv, position), d);
}

float Score(const PagedKv& kv, const Row& row, int64_t position) {
  if (IsQuantized(kv.types.keys)) {
    int32_t dot = 0;
    for (int d = 0; d < kv.key_dim; ++d) dot += KeyInteger(kv, position, d) * row.integers[d];
    return static_cast<float>(dot) * row.query_scale * ScaleAt(KeyScalesOf(kv, position), position);
  }
  float acc = 0;
  for (int d = 0; d < kv.key_dim; ++d) {
    acc = std::fma(KeyElement(kv, position, d), row.query[d], acc);
  }
  return acc;
}

// What the softmax takes.
float FinalScore(const AttentionArgs& args, const Row& row, int64_t position) {
  float score = Score(args.kv, row, position);
  if (args.soft_cap > 0) score = SoftCapRef(args.soft_cap, score);
  if (args.slopes == nullptr) return score;
  return std::fma(-row.slope, static_cast<float>(std::abs(row.position - position)), score);
}

bool QuantizedValues(const PagedKv& kv) {
  return kv.values == ValuePlace::kOwn && IsQuantized(kv.types.values);
}

// o_p: the values of `visible`, weighted with e.
void AddValues(const PagedKv& kv, PositionRange visible, const float* e, float* partial) {
  for (int d = 0; d < kv.value_dim; ++d) {
    float acc = 0;
    for (int64_t t = visible.begin; t < visible.end; ++t) {
      acc = std::fma(ValueElement(kv, t, d), e[t - visible.begin], acc);
    }
    partial[d] = acc;
  }
}

// The same of quantized values, whose weights become integers.
void AddIntegers(const PagedKv& kv, PositionRange visible, const float* e, float* partial) {
  float w[kPartitionTokens];
  int weights[kPartitionTokens] = {};
  const int64_t count = visible.end - visible.begin;
  for (int64_t i = 0; i < count; ++i) {
    w[i] = e[i] * ScaleAt(ValueScalesOf(kv, visible.begin + i), visible.begin + i);
  }
  const RowScale scale = RowScaleOf(RangeOf(w, static_cast<int>(count)), kLargestWeight);
  for (int64_t i = 0; i < count && scale.inverse != 0; ++i) {
    weights[i] = static_cast<int>(RoundToEven(w[i] * scale.inverse));
  }
  for (int d = 0; d < kv.value_dim; ++d) {
    int32_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += weights[i] * ValueInteger(kv, visible.begin + i, d);
    }
    partial[d] = static_cast<float>(sum) * scale.scale;
  }
}

// Merges the positions of `visible`, which lie in one partition, into the row.
//   e, partial   room for kPartitionTokens and value_dim floats
void AttendPartition(const AttentionArgs& args, PositionRange visible, Row& row, float* e,
                     float* partial) {
  const PagedKv& kv = args.kv;
  constexpr int kWidth = 16;
  float m_p = -kInfinity;
  for (int64_t t = visible.begin; t < visible.end; ++t) {
    const float score = FinalScore(args, row, t);
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
  if (QuantizedValues(kv)) {
    AddIntegers(kv, visible, e, partial);
  } else {
    AddValues(kv, visible, e, partial);
  }
  const float maximum = m_p > row.m ? m_p : row.m;
  const float a = ExpRef(row.m - maximum);
  const float b = ExpRef(m_p - maximum);
  row.l = std::fma(row.l, a, l_p * b);
  for (int d = 0; d < kv.value_dim; ++d) row.o[d] = std::fma(row.o[d], a, partial[d] * b);
  row.m = maximum;
}

// Scales the query of a row, and where keys are quantized turns it into integers.
void PrepareQuery(const AttentionArgs& args, const float* source, float* query, Row& row) {
  const int key_dim = args.kv.key_dim;
  for (int d = 0; d < key_dim; ++d) query[d] = source[d] * args.scale;
  row.query = query;
  if (!IsQuantized(args.kv.types.keys)) return;
  RotateRef(query, key_dim);
  const RowScale scale = RowScaleOf(RangeOf(query, key_dim), kLargestOfQuery);
  row.query_scale = scale.scale;
  Round(query, key_dim, scale.inverse, kLargestOfQuery, row.integers);
}

// Row i of the attention matrix before any position: its sink and slope, where there are any.
void Begin(const AttentionArgs& args, int64_t i, Row& row) {
  const int64_t head = i % args.group;
  if (args.sinks != nullptr) {
    row.m = args.sinks[head];
    row.l = 1;
  }
  if (args.slopes != nullptr) row.slope = args.slopes[head];
}

// Gives row i its query among `queries`, which was rotated to `position`.
void TakeQuery(const AttentionArgs& args, const float* queries, int64_t i, int64_t position,
               float* query, Row& row) {
  const int64_t token = i / args.group;
  const int64_t head = i % args.group;
  PrepareQuery(args, queries + token * args.query_stride + head * args.kv.key_dim, query, row);
  row.position = position;
}

// The query of row i for the pinned positions, and the other one.
void TakePinnedQuery(const AttentionArgs& args, int64_t i, float* query, Row& row) {
  TakeQuery(args, args.pinned_query, i, PinnedPosition(args), query, row);
}
void TakeOwnQuery(const AttentionArgs& args, int64_t i, float* query, Row& row) {
  TakeQuery(args, args.query, i, args.first_position + i / args.group, query, row);
}

// out = o / l + 0; quantized values are rotated, and o / l is rotated back.
void Finish(const PagedKv& kv, Row& row, float* out) {
  for (int d = 0; d < kv.value_dim; ++d) row.o[d] = row.o[d] / row.l;
  if (QuantizedValues(kv)) RotateRef(row.o, kv.value_dim);
  for (int d = 0; d < kv.value_dim; ++d) out[d] = row.o[d] + 0.0f;
}

void AppendKey(const PagedKv& kv, int64_t position, const float* key) {
  std::byte* tile = KeyTileOf(kv, position);
  if (IsQuantized(kv.types.keys)) {
    Integers head;
    WriteScale(QuantizeHead(kv.types.keys, key, kv.key_dim, head), KeyScalesOf(kv, position),
               position);
    WriteKeyIntegers(kv, head.q, position % kKeyTileTokens, tile);
    return;
  }
  for (int d = 0; d < kv.key_dim; ++d) {
    const int64_t index = int64_t{d} * kKeyTileTokens + position % kKeyTileTokens;
    WriteElement(kv.types.keys, key[d], tile, index);
  }
}

void AppendValue(const PagedKv& kv, int64_t position, const float* value) {
  std::byte* row = ValueRowOf(kv, position);
  if (IsQuantized(kv.types.values)) {
    Integers head;
    WriteScale(QuantizeHead(kv.types.values, value, kv.value_dim, head),
               ValueScalesOf(kv, position), position);
    WriteValueIntegers(kv, head.q, row);
    return;
  }
  for (int d = 0; d < PaddedValueDim(kv.value_dim); ++d) {
    WriteElement(kv.types.values, d < kv.value_dim ? value[d] : 0.0f, row, d);
  }
}

}  // namespace

void Attention(const AttentionArgs& args) {
  const PagedKv& kv = args.kv;
  const AttentionScratch layout = LayOutScratch(kv.key_dim, kv.value_dim, args.group);
  for (int64_t i = 0; i < args.tokens * args.group; ++i) {
    const int64_t token = i / args.group;
    const int64_t head = i % args.group;
    Row row;
    Begin(args, i, row);
    row.o = args.scratch + layout.out;
    for (int d = 0; d < kv.value_dim; ++d) row.o[d] = 0;
    const auto attend = [&](PositionRange visible) {
      AttendPartition(args, visible, row, args.scratch + layout.scores,
                      args.scratch + layout.partial);
    };
    if (args.pinned > 0) {
      TakePinnedQuery(args, i, args.scratch + layout.query, row);
      attend({0, args.pinned});
    }
    TakeOwnQuery(args, i, args.scratch + layout.query, row);
    const PositionRange seen = VisibleRange(row.position, args);
    for (int64_t p = PartitionStart(seen.begin); p < seen.end; p += kPartitionTokens) {
      attend(CutToPartition(seen, p));
    }
    Finish(kv, row, args.out + token * args.out_stride + head * kv.value_dim);
  }
}

void AppendKv(const PagedKv& kv, int64_t position, const float* key, const float* value) {
  AppendKey(kv, position, key);
  if (kv.values == ValuePlace::kOwn) AppendValue(kv, position, value);
}

}  // namespace skald::kernels::scalar

namespace skald::kernels {

void AttentionWeights(const AttentionArgs& args, int64_t row, std::span<float> weights) {
  scalar::Row of_row;
  const AttentionScratch layout = LayOutScratch(args.kv.key_dim, args.kv.value_dim, args.group);
  float* query = args.scratch + layout.query;
  scalar::Begin(args, row, of_row);
  const PositionRange seen = VisibleRange(args.first_position + row / args.group, args);
  const PositionRange pinned = {0, args.pinned};
  CHECK(seen.end <= static_cast<int64_t>(weights.size()));
  std::fill(weights.begin(), weights.end(), 0.0f);
  const auto for_each = [&](PositionRange range, const auto& change) {
    for (int64_t t = range.begin; t < range.end; ++t) change(t, weights[static_cast<size_t>(t)]);
  };
  // One pass over all positions: partitions exist for the caches of a kernel, and a reader wants
  // shares of the whole. A sink stands in m and l before the first position.
  const float sink = of_row.m;
  float maximum = sink;
  const auto score = [&](int64_t t, float& weight) {
    weight = scalar::FinalScore(args, of_row, t);
    maximum = std::max(maximum, weight);
  };
  if (!pinned.empty()) scalar::TakePinnedQuery(args, row, query, of_row);
  for_each(pinned, score);
  scalar::TakeOwnQuery(args, row, query, of_row);
  for_each(seen, score);
  double sum = of_row.l > 0 ? double{ExpRef(sink - maximum)} : 0.0;
  const auto exponentiate = [&](int64_t, float& weight) {
    weight = ExpRef(weight - maximum);
    sum += double{weight};
  };
  const auto divide = [&](int64_t, float& weight) {
    weight = static_cast<float>(double{weight} / sum);
  };
  for (const PositionRange& range : {pinned, seen}) for_each(range, exponentiate);
  for (const PositionRange& range : {pinned, seen}) for_each(range, divide);
}

}  // namespace skald::kernels
