#include "chat/operators.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "chat/python_format.h"

namespace skald::chat {

namespace {

Status Refuse(std::string message) {
  return Status(ErrorCode::kInvalidArgument, std::move(message));
}

std::string_view Sign(BinaryOp op) {
  constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kSigns[static_cast<size_t>(op)];
}

std::string NameOf(const Value& value) {
  const Undefined* undefined = std::get_if<Undefined>(&value);
  if (undefined == nullptr || undefined->name.empty()) return std::string(TypeName(value));
  return "undefined ('" + std::string(undefined->name) + "')";
}

Status TypeError(BinaryOp op, const Value& left, const Value& right) {
  return Refuse("cannot compute " + NameOf(left) + " " + std::string(Sign(op)) + " " +
                NameOf(right));
}

Result<Value> Overflow() { return Refuse("a whole number does not fit into 64 bits"); }

Result<Value> Power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return Refuse("division by zero");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  // 0, 1 and -1 have powers of any height; of all others the 64th does not fit.
  if (base >= -1 && base <= 1) exponent = base == -1 ? exponent % 2 : (exponent > 0 ? 1 : 0);
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(result, base, &result)) return Overflow();
  return Value(result);
}

Result<Value> ApplyWhole(BinaryOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOp::kAdd: overflow = __builtin_add_overflow(a, b, &result); break;
    case BinaryOp::kSubtract: overflow = __builtin_sub_overflow(a, b, &result); break;
    case BinaryOp::kMultiply: overflow = __builtin_mul_overflow(a, b, &result); break;
    case BinaryOp::kDivide:
      if (b == 0) return Refuse("division by zero");
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case BinaryOp::kFloorDivide:
    case BinaryOp::kModulo: {
      if (b == 0) return Refuse("division by zero");
      if (b == -1)
        return op == BinaryOp::kModulo ? Value(int64_t{0}) : ApplyWhole(BinaryOp::kSubtract, 0, a);
      // Python rounds down, C++ towards zero.
      const bool down = a % b != 0 && (a % b < 0) != (b < 0);
      result = op == BinaryOp::kModulo ? a % b + (down ? b : 0) : a / b - (down ? 1 : 0);
      break;
    }
    case BinaryOp::kPower: return Power(a, b);
  }
  if (overflow) return Overflow();
  return Value(result);
}

Result<Value> ApplyReal(BinaryOp op, double a, double b) {
  const bool divides =
      op == BinaryOp::kDivide || op == BinaryOp::kFloorDivide || op == BinaryOp::kModulo;
  if (divides && b == 0) return Refuse("division by zero");
  switch (op) {
    case BinaryOp::kAdd: return Value(a + b);
    case BinaryOp::kSubtract: return Value(a - b);
    case BinaryOp::kMultiply: return Value(a * b);
    case BinaryOp::kDivide: return Value(a / b);
    case BinaryOp::kFloorDivide: return Value(std::floor(a / b));
    case BinaryOp::kModulo: {
      const double rest = std::fmod(a, b);
      return Value(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    case BinaryOp::kPower: return Value(std::pow(a, b));
  }
  UNREACHABLE();
}

// A text or list, `count` times.
Result<Value> Repeat(Runtime& runtime, const Value& value, int64_t count) {
  if (const Text* text = AsText(value)) {
    TextBuilder builder(runtime.budget());
    for (int64_t i = 0; i < count && !text->empty() && !runtime.budget().exhausted(); ++i)
      builder.Add(*text);
    return Value(builder.Take(text->is_markup() ? Markup::kYes : Markup::kNo));
  }
  const Sequence& source = *std::get<Sequence*>(value);
  Sequence* result = runtime.heap.NewSequence(source.kind);
  for (int64_t i = 0; i < count && !source.items.empty() && !runtime.budget().exhausted(); ++i)
    for (const Value& item : source.items) runtime.heap.Append(*result, item);
  return Value(result);
}

bool CanRepeat(const Value& value) {
  if (AsText(value) != nullptr) return true;
  auto* const* sequence = std::get_if<Sequence*>(&value);
  return sequence != nullptr &&
         ((*sequence)->kind == SequenceKind::kList || (*sequence)->kind == SequenceKind::kTuple);
}

Result<Value> Join(Runtime& runtime, const Value& left, const Value& right) {
  if (AsText(left) != nullptr && AsText(right) != nullptr)
    return Value(Concatenate(runtime.budget(), *AsText(left), *AsText(right)));
  const bool lists =
      CanRepeat(left) && CanRepeat(right) && AsText(left) == nullptr && AsText(right) == nullptr;
  if (!lists || std::get<Sequence*>(left)->kind != std::get<Sequence*>(right)->kind)
    return TypeError(BinaryOp::kAdd, left, right);
  Sequence* result = runtime.heap.NewSequence(std::get<Sequence*>(left)->kind);
  for (const Value* side : {&left, &right}) {
    for (const Value& item : std::get<Sequence*>(*side)->items) {
      if (runtime.budget().exhausted()) break;
      runtime.heap.Append(*result, item);
    }
  }
  return Value(result);
}

}  // namespace

Result<Value> Apply(Runtime& runtime, BinaryOp op, const Value& left, const Value& right) {
  int64_t left_storage = 0;
  int64_t right_storage = 0;
  const int64_t* a = AsInt(left, &left_storage);
  const int64_t* b = AsInt(right, &right_storage);
  if (a != nullptr && b != nullptr) return ApplyWhole(op, *a, *b);
  double x = 0;
  double y = 0;
  if (AsDouble(left, &x) && AsDouble(right, &y)) return ApplyReal(op, x, y);
  if (op == BinaryOp::kAdd) return Join(runtime, left, right);
  if (op == BinaryOp::kMultiply && b != nullptr && CanRepeat(left))
    return Repeat(runtime, left, *b);
  if (op == BinaryOp::kMultiply && a != nullptr && CanRepeat(right))
    return Repeat(runtime, right, *a);
  if (op == BinaryOp::kModulo && AsText(left) != nullptr) {
    ASSIGN_OR_RETURN(Text text, FormatPercent(runtime, *AsText(left), right));
    return Value(std::move(text));
  }
  return TypeError(op, left, right);
}

Result<Value> Negate(const Value& value) {
  int64_t storage = 0;
  if (const int64_t* whole = AsInt(value, &storage))
    return ApplyWhole(BinaryOp::kSubtract, 0, *whole);
  if (const double* real = std::get_if<double>(&value)) return Value(-*real);
  return Refuse("cannot negate " + NameOf(value) + "; expected a number");
}

Result<Value> Plus(const Value& value) {
  int64_t storage = 0;
  if (const int64_t* whole = AsInt(value, &storage)) return Value(*whole);
  if (std::holds_alternative<double>(value)) return value;
  return Refuse("expected a number after '+', found " + NameOf(value));
}

Result<bool> Holds(Runtime& runtime, CompareOp op, const Value& left, const Value& right) {
  Budget& budget = runtime.budget();
  switch (op) {
    case CompareOp::kEqual: return Equal(left, right, budget);
    case CompareOp::kNotEqual: return !Equal(left, right, budget);
    case CompareOp::kIn: return Contains(runtime, right, left);
    case CompareOp::kNotIn: {
      ASSIGN_OR_RETURN(const bool contains, Contains(runtime, right, left));
      return !contains;
    }
    default: break;
  }
  ASSIGN_OR_RETURN(const int order, Compare(left, right, budget));
  double x = 0;
  double y = 0;
  if (AsDouble(left, &x) && AsDouble(right, &y) && (std::isnan(x) || std::isnan(y))) return false;
  switch (op) {
    case CompareOp::kLess: return order < 0;
    case CompareOp::kLessEqual: return order <= 0;
    case CompareOp::kGreater: return order > 0;
    default: return order >= 0;
  }
}

bool IsKey(const Value& value) {
  double number = 0;
  return AsText(value) != nullptr || IsNone(value) || AsDouble(value, &number);
}

namespace {

// One "%..." of a format: flags, width, precision, and the letter.
struct Conversion {
  bool left = false;
  bool zero = false;
  bool plus = false;
  int64_t width = 0;
  int64_t precision = -1;
  char letter = 's';
};

Result<Conversion> ReadConversion(std::string_view format, size_t* at) {
  Conversion conversion;
  for (;
       *at < format.size() && std::string_view("-0+ #").find(format[*at]) != std::string_view::npos;
       ++*at) {
    conversion.left |= format[*at] == '-';
    conversion.zero |= format[*at] == '0';
    conversion.plus |= format[*at] == '+';
  }
  const auto number = [&](int64_t* value) {
    for (; *at < format.size() && format[*at] >= '0' && format[*at] <= '9' && *value <= kMaxWidth;
         ++*at)
      *value = *value * 10 + (format[*at] - '0');
  };
  number(&conversion.width);
  if (*at < format.size() && format[*at] == '.') {
    ++*at;
    conversion.precision = 0;
    number(&conversion.precision);
  }
  if (conversion.width > kMaxWidth || conversion.precision > kMaxWidth)
    return Refuse("a width or precision over " + std::to_string(kMaxWidth));
  if (*at >= format.size()) return Refuse("the format ends after '%'");
  conversion.letter = format[(*at)++];
  return conversion;
}

// `number` with a fixed count of digits behind the point, in plain decimal.
std::string Fixed(double number, int64_t precision) {
  std::string digits(static_cast<size_t>(precision) + 400, '\0');  // 309 digits at most before it
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                          std::chars_format::fixed, static_cast<int>(precision));
  CHECK(error == std::errc());
  digits.resize(static_cast<size_t>(end - digits.data()));
  return digits;
}

Result<Text> Convert(Runtime& runtime, const Conversion& conversion, const Value& value) {
  Budget& budget = runtime.budget();
  double number = 0;
  int64_t storage = 0;
  switch (conversion.letter) {
    case 's': {
      Text text = ToText(budget, value);
      if (conversion.precision < 0) return text;
      return Slice(budget, text, 0, runtime.characters.Offset(budget, text, conversion.precision));
    }
    case 'd':
    case 'i': {
      const int64_t* whole = AsInt(value, &storage);
      const double* real = std::get_if<double>(&value);
      if (whole == nullptr && (real == nullptr || !(std::abs(*real) < 9e18)))
        return Refuse("%d needs a number, found " + NameOf(value));
      const int64_t shown = whole != nullptr ? *whole : static_cast<int64_t>(*real);
      return Text(
          std::string(conversion.plus && shown >= 0 ? "+" : "").append(std::to_string(shown)),
          Origin::kData);
    }
    case 'f':
    case 'F':
      // Hundreds of digits, each of them computed.
      budget.Read(static_cast<size_t>(std::max(conversion.precision, int64_t{0})));
      if (!AsDouble(value, &number) || !std::isfinite(number))
        return Refuse("%f needs a finite number, found " + NameOf(value));
      return Text(std::string(conversion.plus && !std::signbit(number) ? "+" : "")
                      .append(Fixed(number, conversion.precision < 0 ? 6 : conversion.precision)),
                  Origin::kData);
    default:
      return Status(ErrorCode::kUnsupported, std::string("the conversion '%") + conversion.letter +
                                                 "' is not supported; expected %s, %d or %f");
  }
}

}  // namespace

Result<Text> FormatPercent(Runtime& runtime, const Text& format, const Value& values) {
  std::span<const Value> items(&values, 1);
  auto* const* tuple = std::get_if<Sequence*>(&values);
  if (tuple != nullptr && (*tuple)->kind == SequenceKind::kTuple) items = (*tuple)->items;
  TextBuilder builder(runtime.budget());
  const std::string_view bytes = format.bytes();
  size_t next = 0;
  size_t at = 0;
  while (at < bytes.size() && runtime.budget().Spend(1)) {
    const size_t percent = std::min(bytes.find('%', at), bytes.size());
    builder.AddSlice(format, at, percent);
    at = percent;
    if (at == bytes.size()) break;
    ++at;
    if (at < bytes.size() && bytes[at] == '%') {
      builder.AddSlice(format, at, at + 1);
      ++at;
      continue;
    }
    ASSIGN_OR_RETURN(const Conversion conversion, ReadConversion(bytes, &at));
    if (next == items.size()) return Refuse("not enough arguments for the format");
    ASSIGN_OR_RETURN(const Text text, Convert(runtime, conversion, items[next++]));
    // A text longer than the width needs no count.
    const bool wide = text.size() > 4 * static_cast<size_t>(conversion.width);
    const int64_t padding =
        wide ? 0 : conversion.width - runtime.characters.Count(runtime.budget(), text);
    const bool zeros = conversion.zero && !conversion.left && conversion.letter != 's';
    const std::string fill(static_cast<size_t>(std::max(padding, int64_t{0})), zeros ? '0' : ' ');
    const bool negative = zeros && text.bytes().starts_with('-');
    if (negative) builder.Add("-", Origin::kData);
    if (!conversion.left) builder.Add(fill, Origin::kData);
    builder.AddSlice(text, negative ? 1 : 0, text.size());
    if (conversion.left) builder.Add(fill, Origin::kData);
  }
  if (next < items.size() &&
      (tuple != nullptr || items.size() != 1 || !std::get_if<Dict*>(&values)))
    return Refuse("not all arguments are used by the format");
  return builder.Take();
}

}  // namespace skald::chat
