// AVX2 with the dot products of AVX-VNNI (vpdpbusd of 256 bits in VEX encoding): the processors
// since 2021 that have no AVX-512.

#include "kernels/x86/avxvnni.h"

#include "kernels/isa/cpu.h"
#include "kernels/isa/isa.h"
#include "kernels/kernels.h"
#include "kernels/x86/install.h"

namespace skald::kernels::avxvnni {
namespace {

void Install(KernelTable& table) {
  avx2::Install(table);
  table.SetMatmul(MatmulFor);
  table.peak.dot = PeakDot;
}

}  // namespace

Isa Set() {
  return {.name = "avxvnni",
          .cpu_flags = "avx2 fma f16c avx_vnni",
          .supported = [] { return CpuHasAvx2() && CpuHasAvxVnni(); },
          .install = Install};
}

}  // namespace skald::kernels::avxvnni
