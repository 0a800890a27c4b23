/// What CPU and operating system offer: the questions that instruction sets ask (isa.h).
#pragma once

namespace skald::kernels {

/// AVX2, FMA and F16C (x86-64-v3).
bool CpuHasAvx2();
/// AVX-VNNI: dot products of 256 bits without AVX-512. The registers are those of AVX2.
bool CpuHasAvxVnni();
/// AVX-512 F, BW, DQ, VL and VNNI.
bool CpuHasAvx512();
/// Permutations of bytes (AVX-512 VBMI), beside AVX-512: Intel's since Ice Lake, AMD's since Zen 4.
bool CpuHasBytePermutations();
/// AMX tiles of int8. The operating system grants the tile registers to a process on request only:
/// this is the request (Linux: arch_prctl ARCH_REQ_XCOMP_PERM).
bool CpuHasTiles();

/// Dot products of bfloat16 in vectors (VDPBF16PS), beside AVX-512, and in tiles (TDPBF16PS),
/// beside tiles of int8.
bool CpuHasBFloat16Dots();
bool CpuHasBFloat16Tiles();
/// Whether there is a VDPBF16PS that multiplies faster than fused multiply-adds do. On AMD's Zen 4
/// it is twice as fast, on Intel's Sapphire Rapids half as fast: one in two cycles beside four fma.
bool CpuHasFastBFloat16Dots();

}  // namespace skald::kernels
