#include "kernels/kernels.h"

namespace skald::kernels {

KernelTable TableFor(Isa isa) {
  KernelTable table;
  table.isa = isa;
  for (size_t format = 0; format < table.quantize.size(); ++format) {
    table.quantize[format] = QuantizeFor(isa, static_cast<ActivationFormat>(format));
  }
  for (size_t type = 0; type < table.matmul.size(); ++type) {
    table.matmul[type] = MatmulFor(isa, static_cast<PanelType>(type));
  }
  table.rms_norm = RmsNormFor(isa);
  table.rope = RopeFor(isa);
  table.swiglu = SwigluFor(isa);
  table.add = AddFor(isa);
  table.attention = AttentionFor(isa);
  table.append_kv = AppendKvFor(isa);
  return table;
}

}  // namespace skald::kernels
