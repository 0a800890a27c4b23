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

// Everything asked of the CPU. In a virtual machine each CPUID goes to the hypervisor, some 20 us,
// and an engine would ask dozens of times: hence once.
struct Features {
  bool avx2 = false;
  bool avx_vnni = false;
  bool avx512 = false;
  bool byte_permutations = false;
  bool tiles = false;
  bool bfloat16_dots = false;
  bool fast_bfloat16_dots = false;
  bool bfloat16_tiles = false;
};

Features Ask() {
  constexpr unsigned kAvxVnni = 1u << 4;     // CPUID 7.1 EAX; clang 14's builtin does not know it
  constexpr unsigned kAvx512BF16 = 1u << 5;  // CPUID 7.1 EAX
  constexpr unsigned kAmxBF16 = 1u << 22;    // CPUID 7.0 EDX
  // The builtins also ask the operating system (XGETBV) whether it saves the wide registers.
  __builtin_cpu_init();
  Features has;
  has.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && CpuHasF16c();
  has.avx_vnni = (Leaf(7, 1).eax & kAvxVnni) != 0;
  has.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vnni");
  has.byte_permutations = has.avx512 && __builtin_cpu_supports("avx512vbmi");
  has.tiles = CanUseTiles();
  has.bfloat16_dots = has.avx2 && has.avx512 && (Leaf(7, 1).eax & kAvx512BF16) != 0;
  has.fast_bfloat16_dots = has.bfloat16_dots && Leaf(0, 0).ebx != signature_INTEL_ebx;
  has.bfloat16_tiles = has.avx2 && has.avx512 && has.tiles && (Leaf(7, 0).edx & kAmxBF16) != 0;
  return has;
}

const Features& Cpu() {
  static const Features features = Ask();
  return features;
}

}  // namespace

bool CpuHasAvx2() { return Cpu().avx2; }
bool CpuHasAvxVnni() { return Cpu().avx_vnni; }
bool CpuHasAvx512() { return Cpu().avx512; }
bool CpuHasBytePermutations() { return Cpu().byte_permutations; }
bool CpuHasTiles() { return Cpu().tiles; }
bool CpuHasBFloat16Dots() { return Cpu().bfloat16_dots; }
bool CpuHasFastBFloat16Dots() { return Cpu().fast_bfloat16_dots; }
bool CpuHasBFloat16Tiles() { return Cpu().bfloat16_tiles; }

#else

bool CpuHasAvx2() { return false; }
bool CpuHasAvxVnni() { return false; }
bool CpuHasAvx512() { return false; }
bool CpuHasBytePermutations() { return false; }
bool CpuHasTiles() { return false; }
bool CpuHasBFloat16Dots() { return false; }
bool CpuHasFastBFloat16Dots() { return false; }
bool CpuHasBFloat16Tiles() { return false; }

#endif

}  // namespace skald::kernels
