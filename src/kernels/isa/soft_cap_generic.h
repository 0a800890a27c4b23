/// SoftCap over a vector type: bit-equal to SoftCapRef in every lane. Include inside a target
/// region.
#pragma once

#include "kernels/isa/exp_generic.h"

namespace skald::kernels {

template <typename V>
inline V SoftCap(V cap, V x) {
  const V two = V::Broadcast(2.0f);
  const V one = V::Broadcast(1.0f);
  const V e = Exp(Mul(two, Div(x, cap)));
  return Mul(cap, Sub(one, Div(two, Add(one, e))));
}

}  // namespace skald::kernels
