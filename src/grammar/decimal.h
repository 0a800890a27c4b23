/// Decimal: a number as JSON writes it, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skald::grammar {

struct Decimal {
  bool negative = false;
  std::string whole = "0";  ///< digits before the point, no zeros in front; "0" if there are none
  std::string fraction;     ///< digits behind it, no zeros at the end

  bool IsZero() const { return whole == "0" && fraction.empty(); }
  bool IsWhole() const { return fraction.empty(); }
  /// As JSON has it, without an exponent.
  std::string Text() const;

  friend bool operator==(const Decimal&, const Decimal&) = default;
};

/// Reads a number of JSON. Nothing if it would have more than 1,000 digits without its exponent.
std::optional<Decimal> ParseDecimal(std::string_view text);

/// -1, 0 or 1 as a is less than, equal to or greater than b.
int Compare(const Decimal& a, const Decimal& b);

/// The value of a whole number up to 10^18.
std::optional<int64_t> WholeValue(const Decimal& decimal);

}  // namespace skald::grammar
