/// Exp over a vector type: bit-equal to ExpRef in every lane. Include inside a target region.
#pragma once

#include "kernels/isa/exp_ref.h"

namespace skald::kernels {

template <typename V>
inline V Exp(V x) {
  using C = ExpConstants;
  const V cut = Min(V::Broadcast(C::kHighest), x);  // NaN stays
  const V n = RoundNearest(Mul(cut, V::Broadcast(C::kLog2E)));
  V r = Fma(n, V::Broadcast(C::kMinusLn2High), cut);
  r = Fma(n, V::Broadcast(C::kMinusLn2Low), r);
  V p = V::Broadcast(C::kPolynomial[0]);
  p = Fma(p, r, V::Broadcast(C::kPolynomial[1]));
  p = Fma(p, r, V::Broadcast(C::kPolynomial[2]));
  p = Fma(p, r, V::Broadcast(C::kPolynomial[3]));
  p = Fma(p, r, V::Broadcast(C::kPolynomial[4]));
  p = Fma(p, r, V::Broadcast(C::kPolynomial[5]));
  const V y = Add(Fma(p, Mul(r, r), r), V::Broadcast(1.0f));
  // A NaN lane times whatever PowerOfTwo makes of NaN is NaN.
  const V scaled = Mul(y, PowerOfTwo(n));
  return Select(LessThan(x, V::Broadcast(C::kLowest)), V::Zero(), scaled);
}

}  // namespace skald::kernels
