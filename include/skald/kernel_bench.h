/// Kernel bench: how fast the matrix kernels are on one core, beside what the core could do.
///
///     Result<KernelBench> bench = KernelBench::Create("best");
///     Result<std::vector<KernelSample>> samples =
///         bench->Measure({.kernel = 0, .rows = 16, .repetitions = 5});
///     double share = samples->front().share();
///
/// No model and no memory bandwidth: weights that fit the second-level cache times prepared
/// activations, on one thread. What a whole step makes of it is another matter (skald/bench.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skald/bench.h"
#include "skald/status.h"
#include "skald/version.h"

namespace skald {

/// A kernel: a layout of weights in memory.
struct KernelInfo {
  std::string weights;  ///< the types of files that it holds: "Q8_0, Q5_0, IQ4_NL"
  /// What it is made of, and so what bounds it: kInt8 or kFloat.
  Resource resource = Resource::kInt8;
  /// Which of several inner loops was found to be the fastest on this core; empty where there is
  /// one only.
  std::string way;
};

/// One measurement.
struct KernelSample {
  double macs_per_second = 0;  ///< multiply-accumulates
  /// Of the instruction that the kernel is made of (src/kernels/peak/peak.h), the mean of before
  /// and after.
  double peak_macs_per_second = 0;

  double share() const { return macs_per_second / peak_macs_per_second; }
};

/// What to measure.
struct KernelCase {
  size_t kernel = 0;    ///< index into kernels()
  int64_t rows = 1;     ///< of activations: tokens of a step; 1 to 4096
  int repetitions = 1;  ///< at least 1
};

/// Measures kernels. One thread at a time.
class KernelBench {
 public:
  /// `isa` as in EngineOptions. Errors: kInvalidArgument.
  static Result<KernelBench> Create(const std::string& isa);
  ~KernelBench();
  KernelBench(KernelBench&&) noexcept;
  KernelBench& operator=(KernelBench&&) noexcept;

  const std::vector<KernelInfo>& kernels() const;
  std::string_view isa_name() const;

  /// Repetitions of about 40 ms, each with a burst of the peak before and after it. Errors:
  /// kInvalidArgument (no such kernel, rows or repetitions out of range), kResourceExhausted.
  Result<std::vector<KernelSample>> Measure(const KernelCase& wanted);

  /// What stands behind a KernelBench. Defined by the engine room.
  struct State;

 private:
  explicit KernelBench(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace skald
