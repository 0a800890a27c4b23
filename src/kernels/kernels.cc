#include "kernels/kernels.h"

namespace skald::kernels {

KernelTable TableFor(Isa isa) {
  KernelTable table;
  table.isa = isa;
  table.rms_norm = RmsNormFor(isa);
  table.rope = RopeFor(isa);
  table.swiglu = SwigluFor(isa);
  table.add = AddFor(isa);
  table.attention = AttentionFor(isa);
  table.append_kv = AppendKvFor(isa);
  return table;
}

}  // namespace skald::kernels
