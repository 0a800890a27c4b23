/// Peak: what this machine can do, so that a benchmark can say how much of it was used.
///
/// Four rates bound every operation of a forward pass, and each is measured by the shortest
/// program that is limited by it alone:
///
///     int8 dot    the instruction (or sequence) that multiplies quantized weights with quantized
///                 activations, operands in registers, enough independent chains to hide its
///                 latency. No integer matmul built on that instruction can be faster: it issues
///                 the same instruction for every product, and loads, unpacking and scales beside
///                 it.
///     bfloat16    the same for bfloat16 weights; the fma rate, where that is their fastest way
///     fp32 fma    the same for the fused multiply-add of float weights and of attention.
///     read        one pass over a buffer too large for the caches, all workers, each a stretch at
///     a
///                 time. A decode step reads every weight once and can be no faster than that.
///
/// The int8 ceiling is that of the instructions in use.
///
///     variant   int8 dot                                                     MACs an instruction
///     amx       tdpbssd of full tiles                                        16384
///               (bfloat16: tdpbf16ps, where there is one                     8192)
///     avx512    vpdpbusd zmm                                                 64
///               (bfloat16: vdpbf16ps, where it is fast                       32)
///     avxvnni   vpdpbusd ymm                                                 32
///     avx2      8 x vpmaddubsw, 7 x vpaddw, vpmaddwd, vpaddd: as the 4-bit   32 (of vpmaddubsw)
///               kernels of matmul_avx2.cc, the densest sequence there is
///     scalar    a plain loop as the compiler makes it: for orientation; portable code has no
///               instruction of its own and so no ceiling in this sense
///
/// A measurement is short, some twenty milliseconds for each rate: what a virtual machine gets of
/// its host changes within a second, so a ceiling holds for its moment only. Who compares
/// something with it takes one before and one after. With more than one worker all work at once, so
/// shared clocks, shared ports and shared memory channels count as they do in a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.h"

namespace skald::kernels {

/// The programs of one instruction set. Any thread; allocate nothing.
struct PeakKernels {
  /// Runs `steps` >= 0 rounds of dot products and returns the multiply-accumulates done.
  int64_t (*dot)(int64_t steps) = nullptr;
  /// The same for products of bfloat16, by the instruction that the matmul of such weights uses on
  /// this CPU.
  int64_t (*bfloat16)(int64_t steps) = nullptr;
  /// The same for fused multiply-adds of floats.
  int64_t (*fma)(int64_t steps) = nullptr;
  /// Reads `bytes` bytes, a multiple of 512, at a 64-byte aligned address, and returns something
  /// that depends on all of them.
  uint64_t (*read)(const std::byte* data, int64_t bytes) = nullptr;
};

/// Rates of a pool: all its workers together.
struct Peaks {
  double int8_macs_per_second = 0;
  double bfloat16_macs_per_second = 0;
  double float_macs_per_second = 0;
  double read_bytes_per_second = 0;
};

/// Length of a burst of arithmetic: hundreds of times the wake-up of a sleeping worker and a change
/// of clock, and short beside what it is compared with.
inline constexpr double kPeakBurstSeconds = 0.02;

/// Measures all four as they are now: a burst of each kind of arithmetic, then one pass over the
/// buffer.
///   buffer   a multiple of 4 KiB, 64-byte aligned, every page written once by the caller (a page
///            that never was is the kernel's page of zeros, in the cache)
Peaks MeasurePeaks(const PeakKernels& kernels, ThreadPool& pool, std::span<const std::byte> buffer);

/// Multiply-accumulates a second of all workers in one burst of `work`, one of PeakKernels'.
double BurstRate(ThreadPool& pool, int64_t (*work)(int64_t steps));

}  // namespace skald::kernels
