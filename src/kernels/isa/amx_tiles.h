/// The tile registers of AMX: eight matrices of up to 16 rows of 64 bytes, and their products.
///
/// Include inside the region of target_amx_begin.h. Written in assembly, because the intrinsics of
/// gcc 12 do not tell the compiler which memory they read: it may drop the stores that fill a tile
/// configuration (the machine then faults at the first tile instruction). A template argument is
/// the number of a tile register. Source: Intel 64 and IA-32 Architectures Software Developer's
/// Manual, volume 1 chapter 18.
#pragma once

#include <cstdint>

#include "kernels/isa/tile_config.h"

namespace skald::kernels::amx {

/// Sets the shapes and zeroes all tiles, until its life ends; then the tile unit is idle again, and
/// a switch of threads has nothing to save. Not nested.
class TileSession {
 public:
  [[gnu::always_inline]] explicit TileSession(const TileConfig& config) {
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  [[gnu::always_inline]] ~TileSession() { asm volatile("tilerelease"); }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
};

/// Loads a tile whose rows are `stride` bytes apart.
template <int kTile>
[[gnu::always_inline]] inline void LoadTile(const void* from, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
}

template <int kTile>
[[gnu::always_inline]] inline void StoreTile(void* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
}

template <int kTile>
[[gnu::always_inline]] inline void ZeroTile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}

/// sum[m][n] += the sum over k of a[m][k] * b[k / 4][4 * n + k % 4]: signed bytes of a times signed
/// bytes of b, exact int32.
template <int kSum, int kA, int kB>
[[gnu::always_inline]] inline void MultiplySigned() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
}

/// The same with unsigned bytes of b.
template <int kSum, int kA, int kB>
[[gnu::always_inline]] inline void MultiplyUnsigned() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
}

/// sum[m][n] += E + O for pairs of bfloat16: E the chain over k of a[m][2 k] * b[k][2 n], O that of
/// a[m][2 k + 1] * b[k][2 n + 1], each step a fused multiply-add from +0 on. To nearest, subnormal
/// operands and results are zeros. Needs AMX-BF16.
template <int kSum, int kA, int kB>
[[gnu::always_inline]] inline void MultiplyBFloat16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
}

}  // namespace skald::kernels::amx
