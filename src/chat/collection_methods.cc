// The methods of lists, dictionaries and `loop`.
#include <algorithm>
#include <string>

#include "base/status_macros.h"
#include "chat/arguments.h"
#include "chat/builtins.h"
#include "chat/operators.h"

namespace skald::chat {

namespace {

Status Refuse(std::string message) {
  return Status(ErrorCode::kInvalidArgument, std::move(message));
}

Dict& SelfDict(const Value& self) { return *std::get<Dict*>(self); }
Sequence& SelfList(const Value& self) { return *std::get<Sequence*>(self); }

Result<Value> Get(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"key", "default"}, 1));
  if (const Value* found = SelfDict(self).Get(values[0], runtime.budget())) return *found;
  if (arguments.values.size() < 2) return Value(None{});
  return values[1];
}

enum class View : uint8_t { kKeys, kValues, kItems };

template <View kView>
Result<Value> ViewMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  Sequence* view = runtime.heap.NewSequence(SequenceKind::kView);
  for (const Dict::Entry& entry : SelfDict(self).entries()) {
    if (runtime.budget().exhausted()) break;
    Value item = kView == View::kKeys ? entry.key : entry.value;
    if (kView == View::kItems)
      item = runtime.heap.NewSequence(SequenceKind::kTuple, {entry.key, entry.value});
    runtime.heap.Append(*view, item);
  }
  return Value(view);
}

Result<Value> PopKey(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"key", "default"}, 1));
  Dict& dict = SelfDict(self);
  const Value* found = dict.Get(values[0], runtime.budget());
  if (found == nullptr && arguments.values.size() < 2) return Refuse("the key is not there");
  const Value value = found == nullptr ? values[1] : *found;
  dict.Remove(values[0], runtime.budget());
  return value;
}

Result<Value> Update(Runtime& runtime, const Value& self, const Arguments& arguments) {
  runtime.budget().Spend(static_cast<int64_t>(arguments.values.size()));
  Arguments positional = arguments;
  for (size_t i = 0; i < arguments.names.size(); ++i) {
    runtime.heap.Set(SelfDict(self),
                     MakeText(runtime.budget(), arguments.names[i], Origin::kTemplate),
                     arguments.values[arguments.positional() + i]);
    positional.values.pop_back();
  }
  positional.names = {};
  ASSIGN_OR_RETURN(const auto values, Bind(positional, {"other"}));
  if (IsUndefined(values[0])) return Value(None{});
  const auto* other = std::get_if<Dict*>(&values[0]);
  if (other == nullptr) return Refuse("expected a dict, found " + std::string(TypeName(values[0])));
  // A copy, because it may be the dict itself.
  const Counted<Dict::Entry> entries(runtime.budget(), (*other)->entries());
  for (const Dict::Entry& entry : entries) {
    if (runtime.budget().exhausted()) break;
    runtime.heap.Set(SelfDict(self), entry.key, entry.value);
  }
  return Value(None{});
}

Result<Value> SetDefault(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"key", "default"}, 1));
  if (const Value* found = SelfDict(self).Get(values[0], runtime.budget())) return *found;
  if (!IsKey(values[0]))
    return Refuse("a " + std::string(TypeName(values[0])) + " cannot be a key");
  const Value value = arguments.values.size() < 2 ? Value(None{}) : values[1];
  runtime.heap.Set(SelfDict(self), values[0], value);
  return value;
}

Result<Value> CopyDict(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  Dict* copy = runtime.heap.NewDict();
  for (const Dict::Entry& entry : SelfDict(self).entries())
    if (!runtime.budget().exhausted()) runtime.heap.Set(*copy, entry.key, entry.value);
  return Value(copy);
}

Result<Value> Append(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"object"}, 1));
  runtime.heap.Append(SelfList(self), values[0]);
  return Value(None{});
}

Result<Value> Extend(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"iterable"}, 1));
  ASSIGN_OR_RETURN(const Counted<Value> items, Iterate(runtime, values[0]));
  for (const Value& item : items) runtime.heap.Append(SelfList(self), item);
  return Value(None{});
}

// The place that `index` names in a list, from its end if negative.
Result<size_t> Place(const Value& index, size_t count) {
  int64_t storage = 0;
  const int64_t* given = AsInt(index, &storage);
  const auto size = static_cast<int64_t>(count);
  if (given == nullptr) return Refuse("expected a whole number as index");
  if (*given < -size || *given >= size)
    return Refuse("index " + std::to_string(*given) + " is outside of a list of " +
                  std::to_string(size));
  return static_cast<size_t>(*given < 0 ? *given + size : *given);
}

Result<Value> PopItem(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"index"}));
  std::vector<Value>& items = SelfList(self).items;
  const Value last = int64_t{-1};
  ASSIGN_OR_RETURN(const size_t place,
                   Place(IsUndefined(values[0]) ? last : values[0], items.size()));
  const Value value = items[place];
  runtime.budget().Spend(static_cast<int64_t>((items.size() - place) / 16));
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(place));
  return value;
}

Result<Value> Insert(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"index", "object"}, 2));
  std::vector<Value>& items = SelfList(self).items;
  int64_t storage = 0;
  const int64_t* index = AsInt(values[0], &storage);
  if (index == nullptr) return Refuse("expected a whole number as index");
  const auto count = static_cast<int64_t>(items.size());
  const int64_t place = std::clamp(*index < 0 ? *index + count : *index, int64_t{0}, count);
  runtime.heap.Append(SelfList(self), values[1]);
  if (static_cast<int64_t>(items.size()) > count)
    std::rotate(items.begin() + place, items.end() - 1, items.end());
  runtime.budget().Spend((count - place) / 16);
  return Value(None{});
}

Result<Value> IndexOf(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"value"}, 1));
  const std::vector<Value>& items = SelfList(self).items;
  for (size_t i = 0; i < items.size() && !runtime.budget().exhausted(); ++i)
    if (Equal(items[i], values[0], runtime.budget())) return Value(static_cast<int64_t>(i));
  return Refuse("the value is not in the list");
}

Result<Value> Count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"value"}, 1));
  int64_t count = 0;
  for (const Value& item : SelfList(self).items) {
    if (runtime.budget().exhausted()) break;
    count += Equal(item, values[0], runtime.budget());
  }
  return Value(count);
}

Result<Value> Reverse(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  std::vector<Value>& items = SelfList(self).items;
  runtime.budget().Spend(static_cast<int64_t>(items.size()));
  std::reverse(items.begin(), items.end());
  return Value(None{});
}

// loop.cycle("a", "b"): one of its arguments after the other.
Result<Value> Cycle(Runtime&, const Value& self, const Arguments& arguments) {
  if (arguments.values.empty()) return Refuse("expected something to cycle through");
  return arguments.values[std::get<LoopState*>(self)->index % arguments.values.size()];
}

constexpr Function kDictMethods[] = {
    {"get", Get},
    {"keys", ViewMethod<View::kKeys>},
    {"values", ViewMethod<View::kValues>},
    {"items", ViewMethod<View::kItems>},
    {"pop", PopKey},
    {"update", Update},
    {"setdefault", SetDefault},
    {"copy", CopyDict},
};
constexpr Function kListMethods[] = {
    {"append", Append}, {"extend", Extend}, {"pop", PopItem},     {"insert", Insert},
    {"index", IndexOf}, {"count", Count},   {"reverse", Reverse},
};
constexpr Function kTupleMethods[] = {{"index", IndexOf}, {"count", Count}};
constexpr Function kLoopMethods[] = {{"cycle", Cycle}};

}  // namespace

std::span<const Function> CollectionMethods(const Value& self) {
  if (std::get_if<Dict*>(&self) != nullptr) return kDictMethods;
  if (std::get_if<LoopState*>(&self) != nullptr) return kLoopMethods;
  auto* const* sequence = std::get_if<Sequence*>(&self);
  if (sequence == nullptr) return {};
  if ((*sequence)->kind == SequenceKind::kList) return kListMethods;
  if ((*sequence)->kind == SequenceKind::kTuple) return kTupleMethods;
  return {};
}

}  // namespace skald::chat
