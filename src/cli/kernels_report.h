/// What `skald bench --kernels` prints.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench_report.h"
#include "skald/kernel_bench.h"

namespace skald::cli {

/// The rows of activations that are measured: what one sequence and some decode, and a prompt.
inline constexpr std::array<int64_t, 7> kKernelRows = {1, 2, 4, 8, 16, 64, 512};

/// A kernel with its measurements.
struct KernelResult {
  KernelInfo kernel;
  std::vector<std::vector<KernelSample>> samples;  ///< by kKernelRows; none of them empty
};

/// Everything that was measured.
struct KernelReport {
  BenchHeader header;  ///< without a model and ceilings
  std::string isa_name;
  std::vector<KernelResult> results;
};

/// For people: a line for each kernel, with GMAC/s and share for each number of rows.
std::string KernelText(const KernelReport& report);
/// For programs: an array with an object for each kernel and number of rows.
std::string KernelJson(const KernelReport& report);

}  // namespace skald::cli
