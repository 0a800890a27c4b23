// Attributes, items, slices and iteration of values.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "chat/builtins.h"
#include "chat/operators.h"

namespace skald::chat {

namespace {

Status Refuse(std::string message) {
  return Status(ErrorCode::kInvalidArgument, std::move(message));
}

Status UndefinedError(const Value& value, std::string_view wanted) {
  const std::string_view name = std::get<Undefined>(value).name;
  const std::string what = name.empty() ? "a value" : Quoted(name);
  return Refuse(what + " is undefined, expected something with " + std::string(wanted));
}

// The attribute `name` of `loop`.
Value LoopAttribute(const LoopState& loop, std::string_view name) {
  const auto index = static_cast<int64_t>(loop.index);
  const auto count = static_cast<int64_t>(loop.items->items.size());
  if (name == "index0") return index;
  if (name == "index") return index + 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == count;
  if (name == "length") return count;
  if (name == "revindex") return count - index;
  if (name == "revindex0") return count - index - 1;
  if (name == "depth") return loop.depth;
  if (name == "depth0") return loop.depth - 1;
  // The body may have taken items away.
  if (name == "previtem" && index > 0 && index - 1 < count)
    return loop.items->items[loop.index - 1];
  if (name == "nextitem" && index + 1 < count) return loop.items->items[loop.index + 1];
  return Undefined{};
}

bool CanIndex(const Sequence& sequence) {
  return sequence.kind != SequenceKind::kView && sequence.kind != SequenceKind::kGenerator;
}

// Where the character number `count` begins; its end if there are not so many.
size_t OffsetOf(std::string_view text, int64_t count) {
  Characters characters(text);
  while (characters.Next())
    if (count-- == 0) return characters.begin();
  return text.size();
}

// A bound of a slice over `length` items, with Python's rules for the direction of `step`.
Result<int64_t> Bound(const Value& bound, int64_t length, int64_t step, int64_t missing) {
  int64_t storage = 0;
  if (IsNone(bound)) return missing;
  const int64_t* whole = AsInt(bound, &storage);
  if (whole == nullptr)
    return Refuse("expected a whole number as bound of a slice, found " +
                  std::string(TypeName(bound)));
  int64_t at = *whole;
  if (at < 0) at = std::max(at + length, step < 0 ? int64_t{-1} : int64_t{0});
  return std::min(at, step < 0 ? length - 1 : length);
}

}  // namespace

Result<Value> GetAttribute(const Value& value, std::string_view name) {
  if (IsUndefined(value)) return UndefinedError(value, "the attribute '" + std::string(name) + "'");
  const Value* found = nullptr;
  if (const auto* dict = std::get_if<Dict*>(&value)) found = (*dict)->Get(name);
  if (const auto* space = std::get_if<Namespace>(&value)) found = space->attributes->Get(name);
  if (found != nullptr) return *found;
  if (const auto* loop = std::get_if<LoopState*>(&value)) return LoopAttribute(**loop, name);
  return Value(Undefined{});
}

Result<Value> GetItem(Runtime& runtime, const Value& value, const Value& index) {
  if (IsUndefined(value)) return UndefinedError(value, "items");
  int64_t storage = 0;
  const int64_t* place = AsInt(index, &storage);
  if (const auto* dict = std::get_if<Dict*>(&value)) {
    if (const Value* found = (*dict)->Get(index)) return *found;
  } else if (auto* const* sequence = std::get_if<Sequence*>(&value)) {
    const auto count = static_cast<int64_t>((*sequence)->items.size());
    if (place != nullptr && CanIndex(**sequence) && *place >= -count && *place < count)
      return (*sequence)->items[static_cast<size_t>(*place < 0 ? *place + count : *place)];
  } else if (const Text* text = AsText(value); text != nullptr && place != nullptr) {
    const int64_t count = CharacterCount(text->bytes());
    runtime.budget().Spend(static_cast<int64_t>(text->size() / 64));
    if (*place >= -count && *place < count) {
      const int64_t at = *place < 0 ? *place + count : *place;
      const size_t begin = OffsetOf(text->bytes(), at);
      const size_t length = OffsetOf(text->bytes().substr(begin), 1);
      return Value(Slice(runtime.budget(), *text, begin, begin + length));
    }
  }
  const Text* name = AsText(index);
  if (name == nullptr) return Value(Undefined{});
  if (const Function* method = FindMethod(value, name->bytes()))
    return Value(runtime.heap.NewCallable({.function = method, .self = value}));
  return GetAttribute(value, name->bytes());
}

Result<Value> GetSlice(Runtime& runtime, const Value& value, std::span<const Value, 3> bounds) {
  const Text* text = AsText(value);
  auto* const* sequence = std::get_if<Sequence*>(&value);
  if (IsUndefined(value)) return UndefinedError(value, "items");
  if (text == nullptr && (sequence == nullptr || !CanIndex(**sequence)))
    return Value(Undefined{});  // as Jinja: a type without slices gives undefined
  int64_t storage = 1;
  const int64_t* step_value = IsNone(bounds[2]) ? &storage : AsInt(bounds[2], &storage);
  if (step_value == nullptr || *step_value == 0)
    return Refuse("expected a whole number other than 0 as step of a slice");
  const auto count = text != nullptr ? CharacterCount(text->bytes())
                                     : static_cast<int64_t>((*sequence)->items.size());
  if (!runtime.budget().Spend(count / 16)) return runtime.budget().status();
  // A step longer than all there is means the same, and cannot overflow.
  const int64_t step = std::clamp(*step_value, -count - 1, count + 1);
  ASSIGN_OR_RETURN(const int64_t begin, Bound(bounds[0], count, step, step < 0 ? count - 1 : 0));
  ASSIGN_OR_RETURN(const int64_t end, Bound(bounds[1], count, step, step < 0 ? -1 : count));
  if (text != nullptr && step == 1) {
    return Value(Slice(runtime.budget(), *text, OffsetOf(text->bytes(), begin),
                       OffsetOf(text->bytes(), std::max(begin, end))));
  }
  std::vector<size_t> offsets;
  const auto offset_bytes = static_cast<int64_t>(text ? text->size() * sizeof(size_t) : 0);
  if (!runtime.budget().Take(offset_bytes)) return runtime.budget().status();
  if (text != nullptr) offsets = CharacterOffsets(text->bytes());
  runtime.budget().Return(offset_bytes);
  TextBuilder builder(runtime.budget());
  Sequence* items = text ? nullptr : runtime.heap.NewSequence((*sequence)->kind);
  for (int64_t at = begin; step > 0 ? at < end : at > end; at += step) {
    const auto place = static_cast<size_t>(at);
    if (text != nullptr) {
      builder.AddSlice(*text, offsets[place], offsets[place + 1]);
    } else {
      runtime.heap.Append(*items, (*sequence)->items[place]);
    }
  }
  if (text == nullptr) return Value(items);
  return Value(builder.Take(text->is_markup() ? Markup::kYes : Markup::kNo));
}

Result<std::vector<Value>> Iterate(Runtime& runtime, const Value& value) {
  std::vector<Value> items;
  if (IsUndefined(value)) return items;
  if (auto* const* sequence = std::get_if<Sequence*>(&value)) {
    runtime.budget().Spend(static_cast<int64_t>((*sequence)->items.size() / 8));
    if (!(*sequence)->error.empty()) return Refuse((*sequence)->error);
    if ((*sequence)->kind == SequenceKind::kGenerator) return std::exchange((*sequence)->items, {});
    return (*sequence)->items;
  }
  if (const auto* dict = std::get_if<Dict*>(&value)) {
    for (const Dict::Entry& entry : (*dict)->entries()) items.push_back(entry.key);
    return items;
  }
  if (const Text* text = AsText(value)) {
    for (Characters characters(text->bytes()); characters.Next();) {
      if (!runtime.budget().Take(sizeof(Value))) return runtime.budget().status();
      items.push_back(Slice(runtime.budget(), *text, characters.begin(), characters.end()));
    }
    return items;
  }
  return Refuse("cannot iterate over " + std::string(TypeName(value)) +
                "; expected a list, dict or string");
}

Result<int64_t> Length(const Value& value) {
  if (IsUndefined(value)) return int64_t{0};
  if (const Text* text = AsText(value)) return CharacterCount(text->bytes());
  if (const auto* dict = std::get_if<Dict*>(&value))
    return static_cast<int64_t>((*dict)->entries().size());
  auto* const* sequence = std::get_if<Sequence*>(&value);
  if (sequence != nullptr && (*sequence)->kind != SequenceKind::kGenerator)
    return static_cast<int64_t>((*sequence)->items.size());
  if (const auto* loop = std::get_if<LoopState*>(&value))
    return static_cast<int64_t>((*loop)->items->items.size());
  return Refuse("a " + std::string(TypeName(value)) + " has no length");
}

Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item) {
  Budget& budget = runtime.budget();
  if (const Text* text = AsText(container)) {
    const Text* part = AsText(item);
    if (part == nullptr) {
      return Refuse("'in' a string expects a string on its left, found " +
                    std::string(TypeName(item)));
    }
    budget.Spend(static_cast<int64_t>(text->size() / 64));
    return Find(text->bytes(), part->bytes(), 0) != std::string_view::npos;
  }
  if (const auto* dict = std::get_if<Dict*>(&container)) {
    if (!IsKey(item) && !IsUndefined(item))
      return Refuse("a " + std::string(TypeName(item)) + " cannot be a key");
    return (*dict)->Get(item) != nullptr;
  }
  if (std::get_if<Sequence*>(&container) == nullptr && !IsUndefined(container)) {
    return Refuse("'in' expects a list, dict or string on its right, found " +
                  std::string(TypeName(container)));
  }
  ASSIGN_OR_RETURN(const std::vector<Value> items, Iterate(runtime, container));
  for (const Value& candidate : items)
    if (Equal(candidate, item, budget)) return true;
  return false;
}

}  // namespace skald::chat
