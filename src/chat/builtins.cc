#include "chat/builtins.h"

#include <algorithm>
#include <string>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "chat/arguments.h"
#include "chat/operators.h"
#include "chat/python_format.h"
#include "chat/strftime.h"

namespace skald::chat {

namespace {

Status Refuse(std::string message) {
  return Status(ErrorCode::kInvalidArgument, std::move(message));
}

template <typename Entry>
const Entry* FindIn(std::span<const Entry> table, std::string_view name) {
  for (const Entry& entry : table)
    if (entry.name == name) return &entry;
  return nullptr;
}

// --- functions -------------------------------------------------------------------------------

Result<Value> NewDict(Runtime& runtime, const Value&, const Arguments& arguments) {
  if (arguments.positional() > 1) return Refuse("expected at most one argument by position");
  Dict* dict = runtime.heap.NewDict();
  if (arguments.positional() == 1) {
    const auto* other = std::get_if<Dict*>(&arguments.values[0]);
    if (other == nullptr) return Refuse("expected a dict to copy");
    for (const Dict::Entry& entry : (*other)->entries())
      if (!runtime.budget().exhausted()) runtime.heap.Set(*dict, entry.key, entry.value);
  }
  for (size_t i = 0; i < arguments.names.size(); ++i) {
    runtime.heap.Set(*dict, MakeText(runtime.budget(), arguments.names[i], Origin::kTemplate),
                     arguments.values[arguments.positional() + i]);
  }
  return Value(dict);
}

Result<Value> NewNamespace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Value dict, NewDict(runtime, self, arguments));
  return Value(Namespace{std::get<Dict*>(dict)});
}

Result<Value> RaiseException(Runtime& runtime, const Value&, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"message"}, 1));
  // Enough for every message that explains itself; what a user wrote may stand in it.
  constexpr size_t kMaxMessageBytes = 4096;
  const Text message = ToText(runtime.budget(), values[0]);
  std::string_view bytes = message.bytes().substr(0, kMaxMessageBytes);
  if (bytes.size() < message.size()) bytes = bytes.substr(0, WellFormedPrefix(bytes));
  return Refuse("the template refuses this conversation: " + std::string(bytes));
}

Result<Value> Range(Runtime& runtime, const Value&, const Arguments& arguments) {
  int64_t bounds[3] = {0, 0, 1};
  if (arguments.values.empty() || arguments.values.size() > 3 || !arguments.names.empty())
    return Refuse("range expects one to three whole numbers");
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    int64_t storage = 0;
    const int64_t* number = AsInt(arguments.values[i], &storage);
    if (number == nullptr) return Refuse("range expects whole numbers");
    bounds[arguments.values.size() == 1 ? 1 : i] = *number;
  }
  const auto [start, stop, step] = bounds;
  if (step == 0) return Refuse("the step of range must not be 0");
  Sequence* range = runtime.heap.NewSequence(SequenceKind::kRange);
  int64_t at = start;
  while (step > 0 ? at < stop : at > stop) {
    if (static_cast<int64_t>(range->items.size()) == kMaxRange) {
      return Status(ErrorCode::kResourceExhausted, "range is too long; expected at most " +
                                                       std::to_string(kMaxRange) + " numbers");
    }
    runtime.heap.Append(*range, at);
    if (runtime.budget().exhausted() || __builtin_add_overflow(at, step, &at)) break;
  }
  return Value(range);
}

Result<Value> StrftimeNow(Runtime& runtime, const Value&, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"format"}, 1));
  const Text* format = AsText(values[0]);
  if (format == nullptr) return Refuse("strftime_now expects a string");
  if (format->size() > static_cast<size_t>(kMaxWidth)) {
    return Refuse("strftime_now expects at most " + std::to_string(kMaxWidth) + " bytes, found " +
                  std::to_string(format->size()));
  }
  ASSIGN_OR_RETURN(const std::string text, Strftime(format->bytes(), runtime.now));
  return Value(MakeText(runtime.budget(), text, Origin::kData));
}

constexpr Function kGlobals[] = {
    {"namespace", NewNamespace},
    {"raise_exception", RaiseException},
    {"range", Range},
    {"strftime_now", StrftimeNow},
    {"dict", NewDict},
};

// --- tests -----------------------------------------------------------------------------------

template <bool (*kTest)(const Value&)>
Result<Value> Simple(Runtime&, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  return Value(kTest(self));
}

template <CompareOp kOp>
Result<Value> Comparison(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"other"}, 1));
  ASSIGN_OR_RETURN(const bool holds, Holds(runtime, kOp, self, values[0]));
  return Value(holds);
}

bool IsDefined(const Value& value) { return !IsUndefined(value); }
bool IsBoolean(const Value& value) { return std::holds_alternative<bool>(value); }
bool IsTheTrue(const Value& value) { return IsBoolean(value) && std::get<bool>(value); }
bool IsTheFalse(const Value& value) { return IsBoolean(value) && !std::get<bool>(value); }
bool IsString(const Value& value) { return AsText(value) != nullptr; }
bool IsInteger(const Value& value) { return std::holds_alternative<int64_t>(value); }
bool IsFloat(const Value& value) { return std::holds_alternative<double>(value); }
bool IsNumber(const Value& value) { return IsBoolean(value) || IsInteger(value) || IsFloat(value); }
bool IsMapping(const Value& value) { return std::holds_alternative<Dict*>(value); }
bool IsCallable(const Value& value) { return std::holds_alternative<const Callable*>(value); }
bool IsEscaped(const Value& value) { return IsString(value) && AsText(value)->is_markup(); }
bool IsIterable(const Value& value) {
  return IsUndefined(value) || IsString(value) || IsMapping(value) ||
         std::holds_alternative<Sequence*>(value) || std::holds_alternative<LoopState*>(value);
}
// What has a length and items: also an undefined value, which answers to everything.
bool IsSequence(const Value& value) {
  auto* const* sequence = std::get_if<Sequence*>(&value);
  if (sequence == nullptr) return IsUndefined(value) || IsString(value) || IsMapping(value);
  return (*sequence)->kind != SequenceKind::kView && (*sequence)->kind != SequenceKind::kGenerator;
}

// Whether there are letters with case, and all are of this one: str.isupper and str.islower.
template <bool kUpper>
Result<Value> IsCase(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Text text = ToText(runtime.budget(), self);
  const Function* method = FindIn(TextMethods(), kUpper ? "isupper" : "islower");
  return method->function(runtime, text, arguments);
}

// Whether the remainder of a division is `kRest`: by 2, or by the argument.
template <int64_t kRest, bool kByArgument>
Result<Value> Remainder(Runtime& runtime, const Value& self, const Arguments& arguments) {
  Value divisor = int64_t{2};
  if (kByArgument) {
    ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"num"}, 1));
    divisor = values[0];
  } else {
    RETURN_IF_ERROR(Bind(arguments, {}).status());
  }
  ASSIGN_OR_RETURN(const Value rest, Apply(runtime, BinaryOp::kModulo, self, divisor));
  return Value(Equal(rest, kRest, runtime.budget()));
}

Result<Value> SameAs(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"other"}, 1));
  if (self.index() != values[0].index()) return Value(false);
  if (const auto* sequence = std::get_if<Sequence*>(&self))
    return Value(*sequence == std::get<Sequence*>(values[0]));
  if (const auto* dict = std::get_if<Dict*>(&self))
    return Value(*dict == std::get<Dict*>(values[0]));
  return Value(Equal(self, values[0], runtime.budget()));
}

template <typename Entry, const Entry* (*kFind)(std::string_view)>
Result<Value> Exists(Runtime&, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  return Value(AsText(self) != nullptr && kFind(AsText(self)->bytes()) != nullptr);
}

constexpr ValueTest kTests[] = {
    {"defined", Simple<IsDefined>},
    {"undefined", Simple<IsUndefined>},
    {"none", Simple<IsNone>},
    {"string", Simple<IsString>},
    {"mapping", Simple<IsMapping>},
    {"iterable", Simple<IsIterable>},
    {"sequence", Simple<IsSequence>},
    {"boolean", Simple<IsBoolean>},
    {"true", Simple<IsTheTrue>},
    {"false", Simple<IsTheFalse>},
    {"number", Simple<IsNumber>},
    {"integer", Simple<IsInteger>},
    {"float", Simple<IsFloat>},
    {"callable", Simple<IsCallable>},
    {"escaped", Simple<IsEscaped>},
    {"upper", IsCase<true>},
    {"lower", IsCase<false>},
    {"odd", Remainder<1, false>},
    {"even", Remainder<0, false>},
    {"divisibleby", Remainder<0, true>},
    {"sameas", SameAs},
    {"in", Comparison<CompareOp::kIn>},
    {"eq", Comparison<CompareOp::kEqual>},
    {"==", Comparison<CompareOp::kEqual>},
    {"equalto", Comparison<CompareOp::kEqual>},
    {"ne", Comparison<CompareOp::kNotEqual>},
    {"!=", Comparison<CompareOp::kNotEqual>},
    {"lt", Comparison<CompareOp::kLess>},
    {"<", Comparison<CompareOp::kLess>},
    {"lessthan", Comparison<CompareOp::kLess>},
    {"le", Comparison<CompareOp::kLessEqual>},
    {"<=", Comparison<CompareOp::kLessEqual>},
    {"gt", Comparison<CompareOp::kGreater>},
    {">", Comparison<CompareOp::kGreater>},
    {"greaterthan", Comparison<CompareOp::kGreater>},
    {"ge", Comparison<CompareOp::kGreaterEqual>},
    {">=", Comparison<CompareOp::kGreaterEqual>},
    {"filter", Exists<Filter, FindFilter>},
    {"test", Exists<ValueTest, FindValueTest>},
};

}  // namespace

std::span<const ValueTest> ValueTests() { return kTests; }
std::span<const Function> Globals() { return kGlobals; }

const Filter* FindFilter(std::string_view name) {
  const Filter* filter = FindIn(TextFilters(), name);
  return filter != nullptr ? filter : FindIn(SequenceFilters(), name);
}
const ValueTest* FindValueTest(std::string_view name) { return FindIn(ValueTests(), name); }
const Function* FindGlobal(std::string_view name) { return FindIn(Globals(), name); }
const Function* FindMethod(const Value& self, std::string_view name) {
  return FindIn(AsText(self) != nullptr ? TextMethods() : CollectionMethods(self), name);
}

}  // namespace skald::chat
