// The filters that give texts and numbers.
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/status_macros.h"
#include "chat/arguments.h"
#include "chat/builtins.h"
#include "chat/json_value.h"
#include "chat/operators.h"
#include "chat/python_format.h"
#include "chat/text_operations.h"

namespace skald::chat {

namespace {

Status Refuse(std::string message) {
  return Status(ErrorCode::kInvalidArgument, std::move(message));
}

Result<Value> Trim(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"chars"}));
  Budget& budget = runtime.budget();
  return Value(Strip(budget, ToText(budget, self), Ends::kBoth, AsText(values[0])));
}

template <CaseChange kChange>
Result<Value> Case(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  Budget& budget = runtime.budget();
  return Value(ChangeCase(budget, ToText(budget, self), kChange));
}

// Without Markup: as str() of Python's Markup class gives a plain copy of most operations.
Text Plain(Budget& budget, const Text& text) {
  if (!text.is_markup()) return text;
  TextBuilder builder(budget);
  builder.Add(text);
  return builder.Take();
}

Result<Value> ReplaceFilter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"old", "new", "count"}, 2));
  Budget& budget = runtime.budget();
  int64_t storage = 0;
  const int64_t* count = AsInt(values[2], &storage);
  return Value(Replace(budget, Plain(budget, ToText(budget, self)), ToText(budget, values[0]),
                       ToText(budget, values[1]), count ? *count : -1));
}

Result<Value> Safe(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  TextBuilder builder(runtime.budget());
  builder.Add(ToText(runtime.budget(), self));
  return Value(builder.Take(Markup::kYes));
}

Result<Value> EscapeFilter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  return Value(Escape(runtime.budget(), ToText(runtime.budget(), self)));
}

Result<Value> String(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  return Value(ToText(runtime.budget(), self));
}

Result<Value> Indent(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"width", "first", "blank"}));
  const Text* text = AsText(self);
  if (text == nullptr) return Refuse("expected a string, found " + std::string(TypeName(self)));
  Text indentation;
  if (const Text* given = AsText(values[0])) {
    indentation = *given;
  } else {
    constexpr int64_t kWidth = 4;
    ASSIGN_OR_RETURN(const int64_t width, SmallNumber(values[0], kWidth));
    indentation =
        Text(std::string(static_cast<size_t>(std::max(width, int64_t{0})), ' '), Origin::kTemplate);
  }
  Budget& budget = runtime.budget();
  TextBuilder builder(budget);
  if (IsTrue(values[1])) builder.Add(indentation);
  // Jinja adds a newline before it splits: what ends in one keeps an empty last line.
  Pieces lines = SplitLines(budget, text->bytes());
  const bool ends_in_newline = !lines.empty() && lines[lines.size() - 1].end < text->size();
  if (lines.empty() || ends_in_newline) lines.Add({text->size(), text->size()});
  for (size_t i = 0; i < lines.size() && !budget.exhausted(); ++i) {
    if (i > 0) builder.Add("\n", Origin::kTemplate);
    const bool blank = lines[i].begin == lines[i].end;
    if (i > 0 && (!blank || IsTrue(values[2]))) builder.Add(indentation);
    builder.AddSlice(*text, lines[i].begin, lines[i].end);
  }
  return Value(builder.Take(text->is_markup() ? Markup::kYes : Markup::kNo));
}

Result<Value> Format(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (!arguments.names.empty()) return Refuse("expected arguments by position");
  const Value tuple = runtime.heap.NewSequence(SequenceKind::kTuple, arguments.values);
  ASSIGN_OR_RETURN(Text text, FormatPercent(runtime, ToText(runtime.budget(), self), tuple));
  return Value(std::move(text));
}

// Python's int(text) and float(text), as far as decimal numbers go.
template <typename Number>
bool ParseNumber(const Text& text, Budget& budget, Number* number) {
  budget.Read(text.size());
  const Text stripped = Strip(budget, text, Ends::kBoth, nullptr);
  std::string_view digits = stripped.bytes();
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, *number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

Result<Value> Truncated(double number, const Value& otherwise) {
  constexpr double kLimit = 9.2e18;  // within 64 bits
  if (!(std::abs(number) < kLimit)) return otherwise;
  return Value(static_cast<int64_t>(number));
}

Result<Value> Int(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"default", "base"}));
  const Value otherwise = IsUndefined(values[0]) ? Value(int64_t{0}) : values[0];
  int64_t ten = 0;
  if (const int64_t* base = AsInt(values[1], &ten);
      !IsUndefined(values[1]) && !(base && *base == 10)) {
    return Refuse("a base other than 10 is not supported");
  }
  if (IsUndefined(self)) return Refuse("the value is undefined, expected a number or string");
  int64_t storage = 0;
  if (const int64_t* whole = AsInt(self, &storage)) return Value(*whole);
  if (const double* real = std::get_if<double>(&self)) return Truncated(*real, otherwise);
  const Text* text = AsText(self);
  if (text == nullptr) return otherwise;
  int64_t whole = 0;
  double real = 0;
  if (ParseNumber(*text, runtime.budget(), &whole)) return Value(whole);
  if (ParseNumber(*text, runtime.budget(), &real)) return Truncated(real, otherwise);
  return otherwise;
}

Result<Value> Float(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"default"}));
  double real = 0;
  if (AsDouble(self, &real)) return Value(real);
  const Text* text = AsText(self);
  if (text != nullptr && ParseNumber(*text, runtime.budget(), &real)) return Value(real);
  return IsUndefined(values[0]) ? Value(0.0) : values[0];
}

Result<Value> Abs(Runtime&, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  int64_t storage = 0;
  const int64_t* whole = AsInt(self, &storage);
  if (whole != nullptr) return *whole < 0 ? Negate(self) : Plus(self);
  const double* real = std::get_if<double>(&self);
  if (real == nullptr) return Refuse("expected a number, found " + std::string(TypeName(self)));
  return Value(std::abs(*real));
}

// Python's round() of a whole number to a multiple of 10^places: of two that are as near, the even.
Result<Value> RoundWhole(int64_t number, int64_t places) {
  constexpr int64_t kMostPlaces = 18;  // of a power of ten that is an int64
  if (places > kMostPlaces + 1) return Value(int64_t{0});
  uint64_t unit = 1;
  for (int64_t i = 0; i < places; ++i) unit *= 10;
  const uint64_t size =
      number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const uint64_t rest = size % unit;
  uint64_t rounded = size - rest;
  const bool is_odd = size / unit % 2 == 1;
  if (rest > unit / 2 || (rest == unit / 2 && rest != 0 && is_odd)) rounded += unit;
  if (rounded > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return Refuse("the result does not fit into 64 bits");
  const auto result = static_cast<int64_t>(rounded);
  return Value(number < 0 ? -result : result);
}

// Decimals of a number, as "d.ddde+xx", rounded from all of them; of two as near, to the even one.
class Decimals {
 public:
  static constexpr int kAll = 766;  // behind the point: no double has more

  Decimals(double number, int digits)
      : end_(std::to_chars(text_.data(), text_.data() + text_.size(), number,
                           std::chars_format::scientific, digits)
                 .ptr) {}
  std::string_view text() const { return {text_.data(), static_cast<size_t>(end_ - text_.data())}; }
  double Value() const {
    double value = 0;
    std::from_chars(text_.data(), end_, value);
    return value;
  }
  int Exponent() const {
    int exponent = 0;
    const size_t sign = text().find('e') + 1;
    std::from_chars(text_.data() + sign + (text_[sign] == '+' ? 1 : 0), end_, exponent);
    return exponent;
  }

 private:
  std::array<char, kAll + 16> text_;
  const char* end_;
};

// Python's round() of a real number.
double RoundReal(double number, int64_t places) {
  if (number == 0 || !std::isfinite(number)) return number;
  // 17 digits name a double, and are too many to be rounded up to a power of ten.
  constexpr int kName = 16;
  const int64_t digits = Decimals(number, kName).Exponent() + places;
  if (digits >= kName) return number;
  if (digits >= 0) return Decimals(number, static_cast<int>(digits)).Value();
  // Less than a unit, which it becomes if it is more than a half.
  const Decimals size(std::abs(number), Decimals::kAll);
  constexpr size_t kMantissa = Decimals::kAll + 2;
  const bool is_up = digits == -1 && size.text().substr(0, kMantissa) >
                                         Decimals(5, Decimals::kAll).text().substr(0, kMantissa);
  const std::string unit = "1e" + std::to_string(-places);
  double rounded = 0;
  if (is_up) std::from_chars(unit.data(), unit.data() + unit.size(), rounded);
  return std::copysign(rounded, number);
}

Result<Value> Round(Runtime&, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"precision", "method"}));
  ASSIGN_OR_RETURN(const int64_t precision, SmallNumber(values[0], 0));
  double number = 0;
  if (!AsDouble(self, &number))
    return Refuse("expected a number, found " + std::string(TypeName(self)));
  const std::string_view method = AsText(values[1]) ? AsText(values[1])->bytes() : "common";
  int64_t storage = 0;
  const int64_t* whole = AsInt(self, &storage);
  if (method == "ceil" || method == "floor") {
    if (whole != nullptr && precision >= 0) return Value(number);
    const double scale = std::pow(10.0, static_cast<double>(precision));
    const double scaled = method == "ceil" ? std::ceil(number * scale) : std::floor(number * scale);
    return Value((scaled + 0.0) / scale);  // Python has a whole number there, and no -0
  }
  if (method != "common") return Refuse("method must be common, ceil or floor");
  if (whole != nullptr) return precision >= 0 ? Value(*whole) : RoundWhole(*whole, -precision);
  return Value(RoundReal(number, precision));
}

Result<Value> ToJsonFilter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values,
                   Bind(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii = IsTrue(values[0]);
  style.sorted = IsTrue(values[3]);
  if (const Text* indent = AsText(values[1])) {
    style.indent = indent->bytes();
  } else if (!IsUndefined(values[1]) && !IsNone(values[1])) {
    ASSIGN_OR_RETURN(const int64_t width, SmallNumber(values[1], 0));
    style.indent = std::string(static_cast<size_t>(std::max(width, int64_t{0})), ' ');
  }
  if (style.indent) style.item_separator = ",";
  if (auto* const* pair = std::get_if<Sequence*>(&values[2])) {
    const std::vector<Value>& items = (*pair)->items;
    if (items.size() != 2 || AsText(items[0]) == nullptr || AsText(items[1]) == nullptr)
      return Refuse("expected two strings as separators");
    style.item_separator = AsText(items[0])->bytes();
    style.key_separator = AsText(items[1])->bytes();
  }
  ASSIGN_OR_RETURN(Text text, ToJson(runtime.budget(), self, style));
  return Value(std::move(text));
}

Result<Value> FromJson(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  const Text* text = AsText(self);
  if (text == nullptr) return Refuse("expected a string, found " + std::string(TypeName(self)));
  return ParseJson(runtime.heap, text->bytes());
}

constexpr Filter kFilters[] = {
    {"trim", Trim},
    {"upper", Case<CaseChange::kUpper>},
    {"lower", Case<CaseChange::kLower>},
    {"capitalize", Case<CaseChange::kCapitalize>},
    {"title", Case<CaseChange::kWords>},
    {"replace", ReplaceFilter},
    {"safe", Safe},
    {"escape", EscapeFilter},
    {"e", EscapeFilter},
    {"string", String},
    {"indent", Indent},
    {"format", Format},
    {"int", Int},
    {"float", Float},
    {"abs", Abs},
    {"round", Round},
    {"tojson", ToJsonFilter},
    {"from_json", FromJson},
};

}  // namespace

std::span<const Filter> TextFilters() { return kFilters; }

}  // namespace skald::chat
