#include "grammar/number_rule.h"

#include <compare>
#include <map>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "grammar/determinize.h"
#include "grammar/product.h"
#include "grammar/regex.h"

namespace skald::grammar {

namespace {

constexpr uint32_t kDigitsMax = 20;

// What is known of a number that is being written against a bound.
enum class Order : uint8_t { kLess, kEqual, kGreater };

enum class NumberPhase : uint8_t { kStart, kMinus, kZero, kWhole, kPoint, kFraction };

// A number so far. Behind the point `lower` and `upper` compare all of it with the bounds, before
// it only its digits, with as many of the bounds.
struct Digits {
  NumberPhase phase = NumberPhase::kStart;
  bool negative = false;
  uint32_t count = 0;  // before the point; from there on behind it
  Order lower = Order::kEqual;
  Order upper = Order::kEqual;
  int64_t remainder = 0;

  friend auto operator<=>(const Digits&, const Digits&) = default;
};

Order OrderOf(char digit, char bound) {
  return digit < bound ? Order::kLess : (digit > bound ? Order::kGreater : Order::kEqual);
}

// A bound of the magnitude, for one sign.
struct Magnitude {
  const Decimal* value = nullptr;  // null: none
  bool exclusive = false;
};

class NumberMachine {
 public:
  explicit NumberMachine(const NumberRange& range) : range_(range) {}

  // The numbers behind `byte`; nothing if it cannot follow, or only where no number is in range.
  std::optional<Digits> Next(const Digits& digits, char byte) const {
    if (byte == '-') {
      if (digits.phase != NumberPhase::kStart || !HasSign(true)) return std::nullopt;
      return Digits{.phase = NumberPhase::kMinus, .negative = true};
    }
    if (byte == '.') {
      const bool whole = digits.phase == NumberPhase::kZero || digits.phase == NumberPhase::kWhole;
      if (!whole || range_.whole) return std::nullopt;
      return Digits{.phase = NumberPhase::kPoint,
                    .negative = digits.negative,
                    .lower = WholeOrder(digits, digits.lower, Lower(digits.negative)),
                    .upper = WholeOrder(digits, digits.upper, Upper(digits.negative))};
    }
    switch (digits.phase) {
      case NumberPhase::kStart: return HasSign(false) ? First(digits, byte) : std::nullopt;
      case NumberPhase::kMinus: return First(digits, byte);
      case NumberPhase::kWhole: return Whole(digits, byte);
      case NumberPhase::kPoint:
      case NumberPhase::kFraction: return Fraction(digits, byte);
      case NumberPhase::kZero: return std::nullopt;
    }
    return std::nullopt;
  }

  bool Accepts(const Digits& digits) const {
    Order lower = digits.lower;
    Order upper = digits.upper;
    if (digits.phase == NumberPhase::kZero || digits.phase == NumberPhase::kWhole) {
      lower = WholeOrder(digits, lower, Lower(digits.negative));
      upper = WholeOrder(digits, upper, Upper(digits.negative));
    } else if (digits.phase != NumberPhase::kFraction) {
      return false;
    }
    const uint32_t behind = digits.phase == NumberPhase::kFraction ? digits.count : 0;
    lower = EndOrder(lower, Lower(digits.negative), behind);
    upper = EndOrder(upper, Upper(digits.negative), behind);
    const Magnitude low = Lower(digits.negative);
    const Magnitude high = Upper(digits.negative);
    const bool above = low.value == nullptr || lower == Order::kGreater ||
                       (lower == Order::kEqual && !low.exclusive);
    const bool below = high.value == nullptr || upper == Order::kLess ||
                       (upper == Order::kEqual && !high.exclusive);
    return above && below && digits.remainder == 0;
  }

 private:
  // Whether numbers of this sign can be in range. Zero counts as positive.
  bool HasSign(bool negative) const {
    if (negative) return !range_.lower.has_value() || range_.lower->value.negative;
    return !range_.upper.has_value() || !range_.upper->value.negative;
  }
  // The least magnitude; of negative numbers it is above zero: there is no -0.
  Magnitude Lower(bool negative) const {
    if (!negative) {
      const bool binds = range_.lower.has_value() && !range_.lower->value.negative;
      return binds ? Magnitude{&range_.lower->value, range_.lower->exclusive} : Magnitude{};
    }
    const bool binds = range_.upper.has_value() && range_.upper->value.negative;
    return binds ? Magnitude{&range_.upper->value, range_.upper->exclusive}
                 : Magnitude{&zero_, true};
  }
  Magnitude Upper(bool negative) const {
    const std::optional<NumberBound>& bound = negative ? range_.lower : range_.upper;
    return bound.has_value() ? Magnitude{&bound->value, bound->exclusive} : Magnitude{};
  }

  // `order` with one more digit before the point, number `index` of them.
  static Order WithDigit(Order order, const Magnitude& bound, uint32_t index, char digit) {
    if (bound.value == nullptr) return Order::kEqual;
    if (index >= bound.value->whole.size()) return Order::kGreater;  // longer
    return order == Order::kEqual ? OrderOf(digit, bound.value->whole[index]) : order;
  }
  // The order of the digits before the point, once all of them are known.
  static Order WholeOrder(const Digits& digits, Order order, const Magnitude& bound) {
    if (bound.value == nullptr) return Order::kEqual;
    const size_t length = bound.value->whole.size();
    if (digits.count == length) return order;
    return digits.count < length ? Order::kLess : Order::kGreater;
  }
  static Order EndOrder(Order order, const Magnitude& bound, uint32_t behind) {
    if (bound.value == nullptr || order != Order::kEqual) return order;
    return behind < bound.value->fraction.size() ? Order::kLess : Order::kEqual;
  }

  std::optional<Digits> First(const Digits& digits, char byte) const {
    if (byte < '0' || byte > '9') return std::nullopt;
    Digits next = Whole({.negative = digits.negative}, byte).value_or(digits);
    next.phase = byte == '0' ? NumberPhase::kZero : NumberPhase::kWhole;
    return next;
  }

  std::optional<Digits> Whole(const Digits& digits, char byte) const {
    if (byte < '0' || byte > '9' || digits.count == kDigitsMax) return std::nullopt;
    Digits next = digits;
    next.lower = WithDigit(digits.lower, Lower(digits.negative), digits.count, byte);
    next.upper = WithDigit(digits.upper, Upper(digits.negative), digits.count, byte);
    next.remainder = (digits.remainder * 10 + (byte - '0')) % range_.multiple_of;
    ++next.count;
    return next;
  }

  std::optional<Digits> Fraction(const Digits& digits, char byte) const {
    if (byte < '0' || byte > '9' || digits.count == kDigitsMax) return std::nullopt;
    const auto with_digit = [&](Order order, const Magnitude& bound) {
      if (bound.value == nullptr || order != Order::kEqual) return order;
      const std::string& fraction = bound.value->fraction;
      return OrderOf(byte, digits.count < fraction.size() ? fraction[digits.count] : '0');
    };
    Digits next = digits;
    next.phase = NumberPhase::kFraction;
    next.lower = with_digit(digits.lower, Lower(digits.negative));
    next.upper = with_digit(digits.upper, Upper(digits.negative));
    ++next.count;
    return next;
  }

  const NumberRange& range_;
  const Decimal zero_;
};

Result<Automaton> OpenNumbers(bool whole, Fuel* fuel) {
  ASSIGN_OR_RETURN(const Nfa nfa,
                   RegexNfa(whole ? "-?(0|[1-9][0-9]{0,19})"
                                  : "-?(0|[1-9][0-9]{0,19})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?",
                            RegexMatch::kWhole, Spelling::kUtf8, fuel));
  return Deterministic(nfa, fuel);
}

}  // namespace

Result<Automaton> NumberAutomaton(const NumberRange& range, Fuel* fuel) {
  if (range.IsOpen()) return OpenNumbers(range.whole, fuel);
  const NumberMachine machine(range);
  std::map<Digits, uint32_t> numbers = {{Digits{}, 0}};
  std::vector<Digits> states = {Digits{}};
  Automaton automaton;
  for (size_t i = 0; i < states.size(); ++i) {
    const Digits digits = states[i];
    automaton.states.push_back({.accepting = machine.Accepts(digits)});
    if (!fuel->Spend(12)) return fuel->Error();
    for (const char byte : {'-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'}) {
      const std::optional<Digits> next = machine.Next(digits, byte);
      if (!next.has_value()) continue;
      const auto [entry, is_new] = numbers.try_emplace(*next, static_cast<uint32_t>(states.size()));
      if (is_new) states.push_back(*next);
      const auto b = static_cast<uint8_t>(byte);
      automaton.states.back().bytes.push_back({b, b, entry->second});
    }
  }
  return Intersection({&automaton, 1}, fuel);  // cuts off what reaches no number in range
}

bool IsInRange(const NumberRange& range, const Decimal& number) {
  if (range.whole && !number.IsWhole()) return false;
  if (range.lower.has_value()) {
    const int order = Compare(number, range.lower->value);
    if (order < 0 || (order == 0 && range.lower->exclusive)) return false;
  }
  if (range.upper.has_value()) {
    const int order = Compare(number, range.upper->value);
    if (order > 0 || (order == 0 && range.upper->exclusive)) return false;
  }
  int64_t remainder = 0;
  for (const char digit : number.whole)
    remainder = (remainder * 10 + (digit - '0')) % range.multiple_of;
  return remainder == 0;
}

}  // namespace skald::grammar
