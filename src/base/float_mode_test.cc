#include "base/float_mode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/thread.h"
#include "base/thread_pool.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace skald {
namespace {

// What arithmetic does, computed where the compiler cannot: 1/3 and -1/3 tell the four directions
// apart, half of the smallest normal number is flushed or kept as a result, twice a subnormal as an
// operand. As bits: a comparison of floats follows the mode, too.
struct Behaviour {
  uint32_t third;
  uint32_t minus_third;
  uint32_t half_of_least;
  uint32_t twice_subnormal;
  bool operator==(const Behaviour&) const = default;
};

Behaviour BehaviourHere() {
  const volatile float one = 1;
  const volatile float three = 3;
  const volatile float least = std::numeric_limits<float>::min();
  const volatile float subnormal = std::numeric_limits<float>::denorm_min();
  const volatile float half = 0.5f;
  const volatile float two = 2;
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  return {bits(one / three), bits(-one / three), bits(least * half), bits(subnormal * two)};
}

// By IEEE 754: 0x1.555556p-2, its negative, 0x1p-127, 0x1p-148.
constexpr Behaviour kPlain = {0x3eaaaaab, 0xbeaaaaab, 0x00400000, 0x00000002};

// The mode of a caller from elsewhere, while it lives.
class OddMode {
 public:
  explicit OddMode(int rounding) : before_(std::fegetround()) {
    std::fesetround(rounding);
#if defined(__x86_64__)
    csr_ = _mm_getcsr();
    _mm_setcsr(csr_ | 0x8040);  // FTZ, DAZ
#endif
  }
  ~OddMode() {
#if defined(__x86_64__)
    _mm_setcsr(csr_);
#endif
    std::fesetround(before_);
  }

 private:
  int before_;
  unsigned csr_ = 0;
};

TEST(FloatMode, IsThatOfTheNumericsAndThenTheCallersAgain) {
  ASSERT_EQ(BehaviourHere(), kPlain);
  for (const int rounding : {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO}) {
    const OddMode odd(rounding);
    const Behaviour callers = BehaviourHere();
    ASSERT_NE(callers, kPlain) << rounding;
    {
      const FloatMode mode;
      EXPECT_EQ(BehaviourHere(), kPlain) << rounding;
      {
        const FloatMode nested;
        EXPECT_EQ(BehaviourHere(), kPlain) << rounding;
      }
      EXPECT_EQ(BehaviourHere(), kPlain) << rounding;
    }
    EXPECT_EQ(BehaviourHere(), callers) << rounding;
  }
}

#if defined(__x86_64__)
TEST(FloatMode, TrapsOfTheCallerAreOff) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1f80 & ~0x0200u);  // division by zero is a signal now
  {
    const FloatMode mode;
    const volatile float zero = 0;
    EXPECT_EQ(1 / zero, std::numeric_limits<float>::infinity());
  }
  EXPECT_EQ(_mm_getcsr(), 0x1f80 & ~0x0200u);
  _mm_setcsr(before);
}
#endif

TEST(FloatMode, HoldsInThreadsMadeByACallerWithAnother) {
  const OddMode odd(FE_DOWNWARD);
  Behaviour seen{};
  {
    const Thread thread("test", [&] { seen = BehaviourHere(); });
  }
  EXPECT_EQ(seen, kPlain);
}

// The caller of Run is a worker, too.
TEST(FloatMode, HoldsInEveryWorkerOfAPool) {
  const OddMode odd(FE_UPWARD);
  const Behaviour callers = BehaviourHere();
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::vector<Behaviour> seen(64);
    pool.Run(64, [&](int64_t unit, int) { seen[static_cast<size_t>(unit)] = BehaviourHere(); });
    EXPECT_EQ(seen, std::vector<Behaviour>(64, kPlain)) << threads;
    EXPECT_EQ(BehaviourHere(), callers);
  }
}

}  // namespace
}  // namespace skald
