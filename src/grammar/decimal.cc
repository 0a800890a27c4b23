#include "grammar/decimal.h"

#include <algorithm>
#include <charconv>

namespace skald::grammar {

namespace {

constexpr int64_t kDigitsMax = 1000;

int CompareMagnitudes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
  if (const int order = a.whole.compare(b.whole); order != 0) return order < 0 ? -1 : 1;
  const int order = a.fraction.compare(b.fraction);  // a prefix is less, and has zeros behind it
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

}  // namespace

std::optional<Decimal> ParseDecimal(std::string_view text) {
  Decimal decimal;
  if (text.starts_with('-')) {
    decimal.negative = true;
    text.remove_prefix(1);
  }
  const size_t mantissa_end = std::min(text.find_first_of("eE"), text.size());
  int64_t exponent = 0;
  if (mantissa_end < text.size()) {
    std::string_view digits = text.substr(mantissa_end + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc() || exponent < -kDigitsMax || exponent > kDigitsMax)
      return std::nullopt;
  }
  const std::string_view mantissa = text.substr(0, mantissa_end);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  if (point < mantissa.size()) digits += mantissa.substr(point + 1);
  int64_t place = static_cast<int64_t>(point) + exponent;  // digits before the point
  if (static_cast<int64_t>(digits.size()) > kDigitsMax) return std::nullopt;
  if (place < 0) digits.insert(0, static_cast<size_t>(-place), '0');
  place = std::max(place, int64_t{0});
  if (place > static_cast<int64_t>(digits.size())) digits.resize(static_cast<size_t>(place), '0');
  decimal.whole = digits.substr(0, static_cast<size_t>(place));
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size()));
  if (decimal.whole.empty()) decimal.whole.push_back('0');
  decimal.fraction = digits.substr(static_cast<size_t>(place));
  while (decimal.fraction.ends_with('0')) decimal.fraction.pop_back();
  if (decimal.IsZero()) decimal.negative = false;
  return decimal;
}

std::string Decimal::Text() const {
  std::string text(negative ? 1 : 0, '-');
  text += whole;
  if (!fraction.empty()) (text += '.') += fraction;
  return text;
}

int Compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  return a.negative ? CompareMagnitudes(b, a) : CompareMagnitudes(a, b);
}

std::optional<int64_t> WholeValue(const Decimal& decimal) {
  if (!decimal.IsWhole() || decimal.whole.size() > 18) return std::nullopt;
  int64_t value = 0;
  std::from_chars(decimal.whole.data(), decimal.whole.data() + decimal.whole.size(), value);
  return decimal.negative ? -value : value;
}

}  // namespace skald::grammar
