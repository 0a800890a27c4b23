// AVX-512, and AMX tiles of int8; of bfloat16 where the CPU has them.

#include "kernels/isa/cpu.h"
#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/matmul/variants.h"
#include "kernels/peak/variants.h"
#include "kernels/x86/install.h"

namespace skald::kernels::amx {
namespace {

void Install(KernelTable& table) {
  avx512::Install(table);
  table.SetMatmul(MatmulFor);
  table.shared_integers = {.panels = kSharedPanels, .tokens = kMinTokens};
  if (table.MatmulOf(PanelType::kBF16) == MatmulBFloat16) {
    table.shared_bfloat16 = {.panels = kSharedPanels, .tokens = 0};
  }
  table.peak = Peak();
}

}  // namespace

Isa Set() {
  return {.name = "amx",
          .cpu_flags =
              "avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512_vnni "
              "amx_tile amx_int8",
          .supported = [] { return CpuHasAvx2() && CpuHasAvx512() && CpuHasTiles(); },
          .install = Install};
}

}  // namespace skald::kernels::amx
