#include "kernels/isa/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace skald::kernels {

#if defined(__x86_64__)
namespace {

// The bits of one leaf of CPUID, all zero where there is no such leaf.
struct Leaf {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;

  Leaf(unsigned leaf, unsigned subleaf) {
    if (__get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx) == 0) eax = ebx = ecx = edx = 0;
  }
};

// __builtin_cpu_supports of clang 14 does not know f16c. The instructions use the same registers as
// AVX, so no further question to the operating system is needed.
bool CpuHasF16c() { return (Leaf(1, 0).ecx & bit_F16C) != 0; }

// True if the CPU has int8 tiles and the kernel lets this process use them. The compiler's builtins
// of gcc 12 and clang 14 do not ask the operating system.
bool CanUseTiles() {
  constexpr unsigned kTile = 1u << 24;  // CPUID 7.0 EDX: AMX-TILE, AMX-INT8
  constexpr unsigned kInt8 = 1u << 25;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM, <asm/prctl.h>
  constexpr long kTileData = 18;               // the state component of the tile registers
  const Leaf features(7, 0);
  if ((features.edx & kTile) == 0 || (features.edx & kInt8) == 0) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace
#endif

bool CpuHasAvx2() {
#if defined(__x86_64__)
  // The builtins also ask the operating system (XGETBV) whether it saves the wide registers.
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && CpuHasF16c();
#else
  return false;
#endif
}

bool CpuHasAvxVnni() {
#if defined(__x86_64__)
  constexpr unsigned kAvxVnni = 1u << 4;  // CPUID 7.1 EAX; clang 14's builtin does not know it
  return (Leaf(7, 1).eax & kAvxVnni) != 0;
#else
  return false;
#endif
}

bool CpuHasAvx512() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

bool CpuHasTiles() {
#if defined(__x86_64__)
  return CanUseTiles();
#else
  return false;
#endif
}

bool CpuHasBFloat16Dots() {
#if defined(__x86_64__)
  constexpr unsigned kAvx512BF16 = 1u << 5;  // CPUID 7.1 EAX
  return CpuHasAvx2() && CpuHasAvx512() && (Leaf(7, 1).eax & kAvx512BF16) != 0;
#else
  return false;
#endif
}

bool CpuHasFastBFloat16Dots() {
#if defined(__x86_64__)
  const Leaf vendor(0, 0);
  return CpuHasBFloat16Dots() && vendor.ebx != signature_INTEL_ebx;
#else
  return false;
#endif
}

bool CpuHasBFloat16Tiles() {
#if defined(__x86_64__)
  constexpr unsigned kAmxBF16 = 1u << 22;  // CPUID 7.0 EDX
  return CpuHasAvx2() && CpuHasAvx512() && CpuHasTiles() && (Leaf(7, 0).edx & kAmxBF16) != 0;
#else
  return false;
#endif
}

}  // namespace skald::kernels
