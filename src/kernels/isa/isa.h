/// Instruction sets that kernels have variants for, and what this CPU offers.
#pragma once

#include <optional>
#include <string_view>

namespace skald::kernels {

/// Variants, slowest first. A level implies the levels before it.
enum class Isa {
  kScalar,  ///< portable C++; the specification
  kAvx2,    ///< AVX2 + FMA + F16C (x86-64-v3)
  kAvx512,  ///< AVX-512 F, BW, DQ, VL, VNNI
};

/// "scalar", "avx2", "avx512".
std::string_view IsaName(Isa isa);

/// The inverse of IsaName; nothing for any other text.
std::optional<Isa> ParseIsa(std::string_view name);

/// The best level this CPU and operating system can run. Asks the CPU each time (about a
/// microsecond).
Isa DetectIsa();

}  // namespace skald::kernels
