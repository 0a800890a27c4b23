// AVX2, FMA and F16C.

#include "kernels/attention/variants.h"
#include "kernels/isa/cpu.h"
#include "kernels/isa/exp_ref.h"
#include "kernels/isa/isa.h"
#include "kernels/isa/vec_avx2.h"
#include "kernels/kernels.h"
#include "kernels/mass/variants.h"
#include "kernels/matmul/variants.h"
#include "kernels/peak/variants.h"
#include "kernels/quantize/variants.h"
#include "kernels/uniform/variants.h"
#include "kernels/x86/install.h"

// The region opens after everything else and before the templates, so their order is fixed; what
// fills the table stands behind it.
// clang-format off
#include "kernels/isa/target_avx2_begin.h"
#include "kernels/isa/vector_generic.h"
#include "kernels/isa/target_end.h"
#include "kernels/isa/install_vectors.h"
// clang-format on

namespace skald::kernels::avx2 {

void Install(KernelTable& table) {
  ScalarIsa().install(table);
  InstallVectors<F32x16>(table);
  table.SetQuantize(ActivationFormat::kBlock32, QuantizeBlock32);
  table.SetQuantize(ActivationFormat::kBlock128, QuantizeBlock128);
  table.SetQuantize(ActivationFormat::kBFloat16, QuantizeBFloat16);
  table.SetMatmul(MatmulFor);
  table.attention = Attention;
  table.append_kv = AppendKv;
  table.mass = Mass;
  table.uniform = Uniform;
  table.peak = Peak();
}

Isa Set() {
  return {
      .name = "avx2", .cpu_flags = "avx2 fma f16c", .supported = CpuHasAvx2, .install = Install};
}

}  // namespace skald::kernels::avx2
