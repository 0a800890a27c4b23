#include "base/rng.h"

namespace skald {
namespace {

constexpr uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
constexpr uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }

/// The upper 53 of 64 bits as a fraction.
double Fraction(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace

std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = uint64_t{kPhiloxMultipliers[0]} * counter[0];
    const uint64_t product1 = uint64_t{kPhiloxMultipliers[1]} * counter[2];
    counter = {High(product1) ^ counter[1] ^ key[0], Low(product1),
               High(product0) ^ counter[3] ^ key[1], Low(product0)};
    key = {key[0] + kPhiloxWeyls[0], key[1] + kPhiloxWeyls[1]};
  }
  return counter;
}

std::array<double, 2> UniformPair(const RandomKey& key, uint32_t pair) {
  const std::array<uint32_t, 4> bits = Philox4x32(
      {pair, key.sequence, Low(key.position), High(key.position)}, {Low(key.seed), High(key.seed)});
  return {Fraction(bits[0], bits[1]), Fraction(bits[2], bits[3])};
}

double UniformDouble(const RandomKey& key, uint32_t draw) {
  return UniformPair(key, draw / 2)[draw % 2];
}

}  // namespace skald
