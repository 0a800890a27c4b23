// The plain loops. The empty assembly statements keep the compiler from computing ahead what it can
// know, and from leaving out what nobody reads.

#include <array>
#include <cstring>

#include "kernels/peak/variants.h"

namespace skald::kernels::scalar {
namespace {

constexpr int64_t kElements = 256;  // stays in the first-level cache
constexpr int64_t kWords = 64;      // 512 bytes: a round of Read

int64_t Dot(int64_t steps) {
  std::array<int8_t, kElements> weights;
  std::array<int8_t, kElements> activations;
  weights.fill(3);
  activations.fill(-5);
  for (int64_t step = 0; step < steps; ++step) {
    asm volatile("" : : "r"(weights.data()), "r"(activations.data()) : "memory");
    int32_t sum = 0;
    for (size_t i = 0; i < kElements; ++i) sum += weights[i] * activations[i];
    asm volatile("" : : "r"(sum));
  }
  return steps * kElements;
}

// Multiplied and added in two roundings: portable code has no fused instruction to call.
int64_t Fma(int64_t steps) {
  std::array<float, kElements> weights;
  std::array<float, kElements> sums = {};
  weights.fill(1.5f);
  float x = 0.25f;
  for (int64_t step = 0; step < steps; ++step) {
    asm volatile("" : "+m"(x) : "r"(weights.data()), "r"(sums.data()) : "memory");
    for (size_t i = 0; i < kElements; ++i) sums[i] += weights[i] * x;
  }
  asm volatile("" : : "r"(sums.data()) : "memory");
  return steps * kElements;
}

uint64_t Read(const std::byte* data, int64_t bytes) {
  uint64_t folded = 0;
  std::array<uint64_t, kWords> words;
  for (int64_t at = 0; at < bytes; at += int64_t{sizeof(words)}) {
    std::memcpy(words.data(), data + at, sizeof(words));
    for (const uint64_t word : words) folded ^= word;
  }
  return folded;
}

}  // namespace

PeakKernels Peak() { return {.dot = Dot, .bfloat16 = Fma, .fma = Fma, .read = Read}; }

}  // namespace skald::kernels::scalar
