/// What CPU and operating system offer: the questions that instruction sets ask (isa.h).
#pragma once

namespace skald::kernels {

/// AVX2, FMA and F16C (x86-64-v3).
bool CpuHasAvx2();
/// AVX-VNNI: dot products of 256 bits without AVX-512. The registers are those of AVX2.
bool CpuHasAvxVnni();
/// AVX-512 F, BW, DQ, VL and VNNI.
bool CpuHasAvx512();
/// AMX tiles of int8. The operating system grants the tile registers to a process on request only:
/// this is the request (Linux: arch_prctl ARCH_REQ_XCOMP_PERM).
bool CpuHasTiles();

}  // namespace skald::kernels
