/// InstallVectors: the operations that are written once, over a vector type, into a table.
///
/// Include it behind the target region that has included vector_generic.h: filling a table takes no
/// instruction that the CPU at hand may lack.
#pragma once

#include "kernels/isa/vector_generic.h"
#include "kernels/kernels.h"

namespace skald::kernels {

template <typename V>
void InstallVectors(KernelTable& table) {
  table.rms_norm = RmsNormGeneric<V>;
  table.layer_norm = LayerNormGeneric<V>;
  table.rope = RopeGeneric<V>;
  table.swiglu = SwigluGeneric<V>;
  table.glu = GluGeneric<V>;
  table.geglu = GegluGeneric<V>;
  table.geglu_erf = GegluErfGeneric<V>;
  table.swiglu_clamped = SwigluClampedGeneric<V>;
  table.swiglu_limited = SwigluLimitedGeneric<V>;
  table.gelu = GeluGeneric<V>;
  table.gelu_erf = GeluErfGeneric<V>;
  table.relu_squared = ReluSquaredGeneric<V>;
  table.soft_cap = SoftCapGeneric<V>;
  table.add = AddGeneric<V>;
  table.add_scaled = AddScaledGeneric<V>;
  table.conv = ConvGeneric<V>;
  table.delta = DeltaGeneric<V>;
  table.l2_norm = L2NormGeneric<V>;
  table.scan = ScanGeneric<V>;
}

}  // namespace skald::kernels
