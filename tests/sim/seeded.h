/// Seeded: the choices of a simulation, all from one number.
#pragma once

#include <cstdint>
#include <span>

#include "base/rng.h"

namespace skald::sim {

class Seeded {
 public:
  explicit Seeded(uint64_t seed) : key_{.seed = seed, .sequence = 0x51e, .position = 0} {}

  /// low <= result <= high.
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Uniform() * static_cast<double>(high - low + 1));
  }
  /// True once in `n`.
  bool OneIn(int64_t n) { return Between(1, n) == 1; }
  int64_t OneOf(std::span<const int64_t> values) {
    return values[static_cast<size_t>(Between(0, static_cast<int64_t>(values.size()) - 1))];
  }
  double Uniform() {
    if (left_ == 0) {
      pair_ = UniformPair(key_, next_++);
      left_ = 2;
    }
    return pair_[--left_];
  }

 private:
  RandomKey key_;
  uint32_t next_ = 0;
  std::array<double, 2> pair_ = {};
  size_t left_ = 0;
};

}  // namespace skald::sim
