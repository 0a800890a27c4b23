/// What attention does between and after its two products, over a vector type: the softmax of a row
/// in a partition, and the merge of partitions. Include inside a target region (isa/vec_avx512.h
/// says how).
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/soft_cap_generic.h"

namespace skald::kernels {

/// The maximum of the visible scores of a row. NaN scores lose against every maximum (Max returns
/// its second operand), as in the scalar code.
///   visible   relative to the partition; not empty
template <typename V>
inline float MaximumOfRow(PositionRange visible, const float* scores) {
  const V lowest = V::Broadcast(-__builtin_inff());
  // Four chains, so that the latency of Max is not waited for.
  V maxima[4] = {lowest, lowest, lowest, lowest};
  const int64_t whole_begin = (visible.begin + 15) / 16 * 16;
  int64_t t = visible.begin / 16 * 16;
  if (t < whole_begin) {
    const auto seen = V::Lanes(visible.begin - t, visible.end - t);
    maxima[0] = Max(Select(seen, V::Load(scores + t), lowest), maxima[0]);
    t = whole_begin;
  }
  for (; t + 64 <= visible.end; t += 64) {
    for (int i = 0; i < 4; ++i) maxima[i] = Max(V::Load(scores + t + 16 * i), maxima[i]);
  }
  for (; t + 16 <= visible.end; t += 16) maxima[0] = Max(V::Load(scores + t), maxima[0]);
  if (t < visible.end) {
    const auto seen = V::Lanes(0, visible.end - t);
    maxima[1] = Max(Select(seen, V::Load(scores + t), lowest), maxima[1]);
  }
  return ReduceMax(Max(Max(maxima[0], maxima[1]), Max(maxima[2], maxima[3])));
}

/// Exp(x) for x <= 0 or NaN, with the bits of ExpRef in fewer operations than Exp: there is nothing
/// to cut from above, and adding 1.5 * 2^23, whose last bit counts ones, rounds to an integer as
/// RoundNearest does (|x log2 e| < 2^22 wherever the result is not 0).
template <typename V>
inline V ExpOfNotPositive(V x) {
  using C = ExpConstants;
  const V rounder = V::Broadcast(12582912.0f);
  const V n = Sub(Add(Mul(x, V::Broadcast(C::kLog2E)), rounder), rounder);
  V r = Fma(n, V::Broadcast(C::kMinusLn2High), x);
  r = Fma(n, V::Broadcast(C::kMinusLn2Low), r);
  V p = V::Broadcast(C::kPolynomial[0]);
  p = Fma(p, r, V::Broadcast(C::kPolynomial[1]));
  p = Fma(p, r, V::Broadcast(C::kPolynomial[2]));
  p = Fma(p, r, V::Broadcast(C::kPolynomial[3]));
  p = Fma(p, r, V::Broadcast(C::kPolynomial[4]));
  p = Fma(p, r, V::Broadcast(C::kPolynomial[5]));
  const V y = Add(Fma(p, Mul(r, r), r), V::Broadcast(1.0f));
  return Select(LessThan(x, V::Broadcast(C::kLowest)), V::Zero(), ScaleByPowerOfTwo(y, n));
}

/// Turns S of one row into e and returns l_p. Scores of positions that the row does not see are
/// never used, whatever they are.
template <typename V>
inline float WeightsOfRow(PositionRange visible, float row_maximum, float* scores) {
  const V maximum = V::Broadcast(row_maximum);
  V sums = V::Zero();
  for (int64_t t = visible.begin / 16 * 16; t < visible.end; t += 16) {
    V e = ExpOfNotPositive(Sub(V::Load(scores + t), maximum));
    if (t < visible.begin || t + 16 > visible.end) {
      e = Select(V::Lanes(visible.begin - t, visible.end - t), e, V::Zero());
    }
    sums = Add(sums, e);  // adding +0 leaves a sum >= +0 as it is
    Store(e, scores + t);
  }
  return FoldSum(sums);
}

/// The soft cap of a row's scores. Those of positions that the row does not see stay unspecified.
template <typename V>
inline void CapRow(PositionRange visible, float soft_cap, float* scores) {
  const V cap = V::Broadcast(soft_cap);
  for (int64_t t = visible.begin / 16 * 16; t < visible.end; t += 16) {
    Store(SoftCap(cap, V::Load(scores + t)), scores + t);
  }
}

/// Takes from a row's scores what their distance from `position` costs. Both are relative to the
/// partition. Those of positions that the row does not see stay unspecified.
template <typename V>
inline void BiasRow(PositionRange visible, int64_t position, float slope, float* scores) {
  const V minus_slope = V::Broadcast(-slope);
  for (int64_t t = visible.begin / 16 * 16; t < visible.end; t += 16) {
    // Both are integers below 2^24: exact.
    const V ahead = Sub(V::Load(kLaneNumbers), V::Broadcast(static_cast<float>(position - t)));
    const V distance = Max(ahead, Sub(V::Zero(), ahead));
    Store(Fma(minus_slope, distance, V::Load(scores + t)), scores + t);
  }
}

/// S, m_p and l_p of every row in the partition that starts at `partition`: what the scores become.
template <typename V>
inline void SoftmaxRows(const PartitionRows& rows, int64_t partition) {
  const AttentionBlock& block = *rows.block;
  float* scratch = block.args->scratch;
  float* maximum = scratch + block.layout.partition_maximum;
  float* sum = scratch + block.layout.partition_sum;
  const float cap = block.args->soft_cap;
  const float* slopes = block.args->slopes;
  for (int r = 0; r < rows.count; ++r) {
    if (cap > 0) CapRow<V>(rows.visible[r], cap, rows.Scores(r));
    if (slopes != nullptr) {
      const int64_t row = rows.first_row + r;
      BiasRow<V>(rows.visible[r], block.Position(row) - partition, slopes[row % block.args->group],
                 rows.Scores(r));
    }
    maximum[r] = MaximumOfRow<V>(rows.visible[r], rows.Scores(r));
    sum[r] = WeightsOfRow<V>(rows.visible[r], maximum[r], rows.Scores(r));
  }
}

/// Merges m_p, l_p, o_p of every row into its m, l, o.
template <typename V>
inline void MergeRows(const PartitionRows& rows) {
  const AttentionScratch& layout = rows.block->layout;
  float* scratch = rows.block->args->scratch;
  float* row_maximum = scratch + layout.maximum + rows.first_row;
  float* row_sum = scratch + layout.sum + rows.first_row;
  float* a = scratch + layout.partition_maximum;
  float* b = scratch + layout.partition_sum;
  for (int r = 0; r < rows.count; r += 16) {  // lanes are rows
    const int left = rows.count - r;
    const V m = V::LoadPartial(row_maximum + r, left);
    const V m_p = V::Load(a + r);
    const V maximum = Max(m_p, m);
    const V factor = ExpOfNotPositive(Sub(m, maximum));
    const V factor_p = ExpOfNotPositive(Sub(m_p, maximum));
    const V l = V::LoadPartial(row_sum + r, left);
    StorePartial(maximum, row_maximum + r, left);
    StorePartial(Fma(l, factor, Mul(V::Load(b + r), factor_p)), row_sum + r, left);
    Store(factor, a + r);
    Store(factor_p, b + r);
  }
  float* out = scratch + layout.out + rows.first_row * layout.padded_values;
  const float* partial = scratch + layout.partial;
  for (int r = 0; r < rows.count; ++r) {
    const V factor = V::Broadcast(a[r]);
    const V factor_p = V::Broadcast(b[r]);
    for (int d = 0; d < layout.padded_values; d += 16) {
      Store(Fma(V::Load(out + d), factor, Mul(V::Load(partial + d), factor_p)), out + d);
    }
    out += layout.padded_values;
    partial += layout.padded_values;
  }
}

}  // namespace skald::kernels
