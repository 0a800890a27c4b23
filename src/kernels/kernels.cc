#include "kernels/kernels.h"

#include "base/check.h"

namespace skald::kernels {

KernelTable TableFor(Isa isa) {
  CHECK(isa <= DetectIsa());
  KernelTable table;
  table.isa = isa;
  for (size_t i = 0; i < table.quantize.size(); ++i) {
    table.quantize[i] = QuantizeFor(isa, static_cast<ActivationFormat>(i));
  }
  for (size_t i = 0; i < table.matmul.size(); ++i) {
    table.matmul[i] = MatmulFor(isa, static_cast<PanelType>(i));
  }
  table.rms_norm = RmsNormFor(isa);
  table.layer_norm = LayerNormFor(isa);
  table.rope = RopeFor(isa);
  table.swiglu = SwigluFor(isa);
  table.glu = GluFor(isa);
  table.geglu = GegluFor(isa);
  table.geglu_erf = GegluErfFor(isa);
  table.swiglu_clamped = SwigluClampedFor(isa);
  table.swiglu_limited = SwigluLimitedFor(isa);
  table.gelu = GeluFor(isa);
  table.gelu_erf = GeluErfFor(isa);
  table.relu_squared = ReluSquaredFor(isa);
  table.soft_cap = SoftCapFor(isa);
  table.add = AddFor(isa);
  table.add_scaled = AddScaledFor(isa);
  table.attention = AttentionFor(isa);
  table.append_kv = AppendKvFor(isa);
  table.conv = ConvFor(isa);
  table.delta = DeltaFor(isa);
  table.l2_norm = L2NormFor(isa);
  table.scan = ScanFor(isa);
  return table;
}

}  // namespace skald::kernels
