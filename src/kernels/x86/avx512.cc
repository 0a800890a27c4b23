// AVX-512 F, BW, DQ, VL and VNNI.

#include "kernels/attention/variants.h"
#include "kernels/isa/cpu.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/vec_avx512.h"
#include "kernels/kernels.h"
#include "kernels/mass/variants.h"
#include "kernels/matmul/variants.h"
#include "kernels/peak/variants.h"
#include "kernels/uniform/variants.h"
#include "kernels/x86/install.h"

// The region opens after everything else and before the templates, so their order is fixed; what
// fills the table stands behind it.
// clang-format off
#include "kernels/isa/target_avx512_begin.h"
#include "kernels/isa/vector_generic.h"
#include "kernels/isa/target_end.h"
#include "kernels/isa/install_vectors.h"
// clang-format on

namespace skald::kernels::avx512 {

void Install(KernelTable& table) {
  avx2::Install(table);  // it quantizes
  InstallVectors<F32x16>(table);
  table.SetMatmul(MatmulFor);
  for (size_t i = 0; i < kPanelTypeCount; ++i) {
    table.matmul_way[i] = WayFor(static_cast<PanelType>(i)).name;
  }
  if (table.MatmulOf(PanelType::kBF16) != MatmulBFloat16ByFma) {
    table.shared_bfloat16 = {.panels = kOrderedPanels, .tokens = kFewToOrder + 1};
  }
  table.attention = Attention;
  table.append_kv = AppendKv;
  table.mass = Mass;
  table.uniform = Uniform;
  table.peak = Peak();
}

Isa Set() {
  return {.name = "avx512",
          .cpu_flags = "avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512_vnni",
          .supported = [] { return CpuHasAvx2() && CpuHasAvx512(); },
          .install = Install};
}

}  // namespace skald::kernels::avx512
