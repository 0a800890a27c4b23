/// Instruction sets that kernels have variants for, and what this CPU offers.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace skald::kernels {

/// Variants, slowest first. A level implies the levels before it.
enum class Isa {
  kScalar,  ///< portable C++; the specification
  kAvx2,    ///< AVX2 + FMA + F16C (x86-64-v3)
  kAvx512,  ///< AVX-512 F, BW, DQ, VL, VNNI
  kAmx,     ///< and AMX tiles of int8
};

inline constexpr std::array kAllIsas = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAmx};

/// "scalar", "avx2", "avx512", "amx".
std::string_view IsaName(Isa isa);

/// The inverse of IsaName; nothing for any other text.
std::optional<Isa> ParseIsa(std::string_view name);

/// The best level this CPU and operating system can run. Asks the CPU each time (about a
/// microsecond), and the operating system for the tile registers, which it grants to a process on
/// request only (Linux: arch_prctl ARCH_REQ_XCOMP_PERM).
Isa DetectIsa();

}  // namespace skald::kernels
