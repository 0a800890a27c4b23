/// Masses over a type of doubles (mass_avx512.cc shows its members). Include inside a target region
/// (isa/vec_avx512.h says how).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/exact_math.h"
#include "kernels/mass/mass.h"

namespace skald::kernels {

/// The masses of kVectors * V::kLanes logits. A mass is a chain of 35 operations, each waiting for
/// the one before: several vectors go through it side by side.
template <typename V, int kVectors>
inline void WriteMasses(const MassArgs& row, const float* logits, uint64_t* masses) {
  const V max = V::Broadcast(static_cast<double>(row.max));
  const V inverse = V::Broadcast(row.inverse_temperature);
  // Far below -43 ln 2, where the mass is 0, and inside the range of ExactExpInRange.
  const V no_mass = V::Broadcast(-64);
  // From here to `power` the operations of ExactExpInRange.
  V scale[kVectors];
  V r[kVectors];
  V sum[kVectors];
  for (int k = 0; k < kVectors; ++k) {
    const V logit = V::Load(logits + k * V::kLanes);
    const V exponent = ZeroWhereEqual(logit, max, Mul(Sub(logit, max), inverse));
    const V x = Max(exponent, no_mass);
    const V shifted = Add(Mul(x, V::Broadcast(kInverseLn2)), V::Broadcast(kRoundingShift));
    const V n = Sub(shifted, V::Broadcast(kRoundingShift));
    r[k] = Sub(Sub(x, Mul(n, V::Broadcast(kLn2Hi))), Mul(n, V::Broadcast(kLn2Lo)));
    scale[k] = HalfScale(shifted);
    sum[k] = V::Broadcast(kExpSeries[0]);
  }
  // As a loop: unrolled, gcc 12 puts the chains one behind the other.
#pragma GCC unroll 1
  for (size_t i = 1; i < kExpSeries.size(); ++i) {
    const V term = V::Broadcast(kExpSeries[i]);
    for (int k = 0; k < kVectors; ++k) sum[k] = Add(Mul(sum[k], r[k]), term);
  }
  // 2^52 + mass: the last bit of such a double is worth 1, so the addition rounds to an integer,
  // which stands in the low bits.
  const V rounder = V::Broadcast(0x1p+52);
  const V full = V::Broadcast(static_cast<double>(kFullMass));
  for (int k = 0; k < kVectors; ++k) {
    const V power = Add(V::Broadcast(1.0), Add(r[k], Mul(Mul(r[k], r[k]), sum[k])));
    const V share = Mul(Mul(power, scale[k]), V::Broadcast(2.0));
    StoreDifference(Add(Mul(share, full), rounder), rounder, masses + k * V::kLanes);
  }
}

template <typename V>
inline void MassGeneric(const MassArgs& args) {
  constexpr int kVectors = 4;
  constexpr int64_t kStep = kVectors * V::kLanes;
  int64_t i = 0;
  for (; i + kStep <= args.n; i += kStep) {
    WriteMasses<V, kVectors>(args, args.logits + i, args.masses + i);
  }
  if (i == args.n) return;
  float logits[kStep];
  uint64_t masses[kStep];
  std::fill_n(logits, kStep, args.max);
  std::copy(args.logits + i, args.logits + args.n, logits);
  WriteMasses<V, kVectors>(args, logits, masses);
  std::copy_n(masses, args.n - i, args.masses + i);
}

}  // namespace skald::kernels
