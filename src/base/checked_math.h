/// Checked integer arithmetic for numbers that came from outside.
///
/// Rule: a size, count or offset read from a file or a request is held in CheckedU64 until it has
/// been compared with a bound. CheckedU64 has no plain + or *: an operation that would wrap makes
/// the value invalid, invalid values stay invalid, and the only way back to an integer is value(),
/// which says whether everything before it was exact. So a forgotten check does not compile, and a
/// chain of operations needs one test at its end.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

namespace skald {

/// A 64-bit unsigned number that remembers whether it is the exact result of every operation that
/// led to it.
class CheckedU64 {
 public:
  constexpr CheckedU64() = default;
  constexpr explicit CheckedU64(uint64_t value) : value_(value) {}

  /// The number, or nothing if an operation on the way here wrapped.
  constexpr std::optional<uint64_t> value() const {
    return exact_ ? std::optional<uint64_t>(value_) : std::nullopt;
  }
  constexpr bool exact() const { return exact_; }

  /// True if the number is exact and at most `bound`: the usual end of a chain.
  constexpr bool AtMost(uint64_t bound) const { return exact_ && value_ <= bound; }

  constexpr CheckedU64 Add(CheckedU64 other) const {
    CheckedU64 result;
    const bool wrapped = __builtin_add_overflow(value_, other.value_, &result.value_);
    result.exact_ = exact_ && other.exact_ && !wrapped;
    return result;
  }
  constexpr CheckedU64 Mul(CheckedU64 other) const {
    CheckedU64 result;
    const bool wrapped = __builtin_mul_overflow(value_, other.value_, &result.value_);
    result.exact_ = exact_ && other.exact_ && !wrapped;
    return result;
  }
  /// Exact only if `divisor` is not 0 and divides the number.
  constexpr CheckedU64 DivExact(uint64_t divisor) const {
    CheckedU64 result;
    result.exact_ = exact_ && divisor != 0 && value_ % divisor == 0;
    result.value_ = result.exact_ ? value_ / divisor : 0;
    return result;
  }
  /// Rounds up to a multiple of `alignment`, a power of two.
  constexpr CheckedU64 RoundUp(uint64_t alignment) const {
    CheckedU64 sum = Add(CheckedU64(alignment - 1));
    sum.value_ &= ~(alignment - 1);
    return sum;
  }
  constexpr CheckedU64 Add(uint64_t other) const { return Add(CheckedU64(other)); }
  constexpr CheckedU64 Mul(uint64_t other) const { return Mul(CheckedU64(other)); }

 private:
  uint64_t value_ = 0;
  bool exact_ = true;
};

/// `value` as a To if it is representable there, else nothing. Never wraps, never rounds.
template <std::integral To, std::integral From>
constexpr std::optional<To> Narrow(From value) {
  const To result = static_cast<To>(value);
  if (static_cast<From>(result) != value || (result < To{}) != (value < From{}))
    return std::nullopt;
  return result;
}

/// ceil(a / b) for trusted a >= 0, b > 0.
template <std::integral T>
constexpr T DivCeil(T a, T b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The least multiple of b that is >= a, for trusted a >= 0, b > 0.
template <std::integral T>
constexpr T RoundUp(T a, T b) {
  return DivCeil(a, b) * b;
}

}  // namespace skald
