// Attributes, items, slices and iteration of values.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "chat/builtins.h"
#include "chat/operators.h"
#include "chat/search.h"

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
  // Of recursive loops, which there are none of: a loop in another one is not deeper.
  if (name == "depth") return int64_t{1};
  if (name == "depth0") return int64_t{0};
  // The body may have taken items away.
  if (name == "previtem" && index > 0 && index - 1 < count)
    return loop.items->items[loop.index - 1];
  if (name == "nextitem" && index + 1 < count) return loop.items->items[loop.index + 1];
  return Undefined{};
}

bool CanIndex(const Sequence& sequence) {
  return sequence.kind != SequenceKind::kView && sequence.kind != SequenceKind::kGenerator;
}

// The character number `place` of `text`, from its end if negative; empty if there is none.
TextRange FindCharacter(Runtime& runtime, const Text& text, int64_t place) {
  CharacterIndex& characters = runtime.characters;
  if (place == -1 && !text.empty()) return {LastCharacter(text.bytes()), text.size()};
  const int64_t at = place < 0 ? place + characters.Count(runtime.budget(), text) : place;
  if (at < 0 || static_cast<uint64_t>(at) >= text.size()) return {0, 0};
  return {characters.Offset(runtime.budget(), text, at),
          characters.Offset(runtime.budget(), text, at + 1)};
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

Result<Value> GetAttribute(Runtime& runtime, const Value& value, std::string_view name) {
  Budget& budget = runtime.budget();
  if (IsUndefined(value)) return UndefinedError(value, "the attribute " + Quoted(name));
  const Value* found = nullptr;
  if (const auto* dict = std::get_if<Dict*>(&value)) found = (*dict)->Get(name, budget);
  if (const auto* space = std::get_if<Namespace>(&value))
    found = space->attributes->Get(name, budget);
  if (found != nullptr) return *found;
  if (const auto* loop = std::get_if<LoopState*>(&value)) return LoopAttribute(**loop, name);
  return Value(Undefined{});
}

Result<Value> GetItem(Runtime& runtime, const Value& value, const Value& index) {
  if (IsUndefined(value)) return UndefinedError(value, "items");
  int64_t storage = 0;
  const int64_t* place = AsInt(index, &storage);
  if (const auto* dict = std::get_if<Dict*>(&value)) {
    if (const Value* found = (*dict)->Get(index, runtime.budget())) return *found;
  } else if (auto* const* sequence = std::get_if<Sequence*>(&value)) {
    const auto count = static_cast<int64_t>((*sequence)->items.size());
    if (place != nullptr && CanIndex(**sequence) && *place >= -count && *place < count)
      return (*sequence)->items[static_cast<size_t>(*place < 0 ? *place + count : *place)];
  } else if (const Text* text = AsText(value); text != nullptr && place != nullptr) {
    const TextRange character = FindCharacter(runtime, *text, *place);
    if (character.begin < character.end)
      return Value(Slice(runtime.budget(), *text, character.begin, character.end));
  }
  const Text* name = AsText(index);
  if (name == nullptr) return Value(Undefined{});
  if (const Function* method = FindMethod(value, name->bytes()))
    return Value(runtime.heap.NewCallable({.function = method, .self = value}));
  return GetAttribute(runtime, value, name->bytes());
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
  Budget& budget = runtime.budget();
  CharacterIndex& characters = runtime.characters;
  const auto count = text != nullptr ? characters.Count(budget, *text)
                                     : static_cast<int64_t>((*sequence)->items.size());
  // A step longer than all there is means the same, and cannot overflow.
  const int64_t step = std::clamp(*step_value, -count - 1, count + 1);
  ASSIGN_OR_RETURN(const int64_t begin, Bound(bounds[0], count, step, step < 0 ? count - 1 : 0));
  ASSIGN_OR_RETURN(const int64_t end, Bound(bounds[1], count, step, step < 0 ? -1 : count));
  if (text != nullptr && step == 1) {
    const size_t from = characters.Offset(budget, *text, begin);
    return Value(Slice(budget, *text, from, std::max(from, characters.Offset(budget, *text, end))));
  }
  TextBuilder builder(budget);
  Sequence* items = text ? nullptr : runtime.heap.NewSequence((*sequence)->kind);
  for (int64_t at = begin; (step > 0 ? at < end : at > end) && !budget.exhausted(); at += step) {
    if (text != nullptr) {
      const size_t from = characters.Offset(budget, *text, at);
      builder.AddSlice(*text, from, characters.Offset(budget, *text, at + 1));
    } else {
      runtime.heap.Append(*items, (*sequence)->items[static_cast<size_t>(at)]);
    }
  }
  if (text == nullptr) return Value(items);
  return Value(builder.Take(text->is_markup() ? Markup::kYes : Markup::kNo));
}

Result<Counted<Value>> Iterate(Runtime& runtime, const Value& value) {
  Budget& budget = runtime.budget();
  Counted<Value> items(budget);
  if (IsUndefined(value)) return items;
  if (auto* const* sequence = std::get_if<Sequence*>(&value)) {
    if (!(*sequence)->error.empty()) return Refuse((*sequence)->error);
    if ((*sequence)->kind == SequenceKind::kGenerator)
      return Counted<Value>(budget, std::exchange((*sequence)->items, {}));
    return Counted<Value>(budget, (*sequence)->items);
  }
  if (const auto* dict = std::get_if<Dict*>(&value)) {
    for (const Dict::Entry& entry : (*dict)->entries())
      if (!items.Add(entry.key)) break;
    return items;
  }
  if (const Text* text = AsText(value)) {
    for (Characters characters(text->bytes()); characters.Next();)
      if (!items.Add(Slice(budget, *text, characters.begin(), characters.end()))) break;
    return items;
  }
  return Refuse("cannot iterate over " + std::string(TypeName(value)) +
                "; expected a list, dict or string");
}

Result<int64_t> Length(Runtime& runtime, const Value& value) {
  if (IsUndefined(value)) return int64_t{0};
  if (const Text* text = AsText(value)) return runtime.characters.Count(runtime.budget(), *text);
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
    if (part->empty()) return true;
    if (part->size() > text->size()) return false;
    budget.Scan(text->size());
    return Needle(part->bytes()).Find(text->bytes(), 0) != std::string_view::npos;
  }
  if (const auto* dict = std::get_if<Dict*>(&container)) {
    if (!IsKey(item) && !IsUndefined(item))
      return Refuse("a " + std::string(TypeName(item)) + " cannot be a key");
    return (*dict)->Get(item, budget) != nullptr;
  }
  if (std::get_if<Sequence*>(&container) == nullptr && !IsUndefined(container)) {
    return Refuse("'in' expects a list, dict or string on its right, found " +
                  std::string(TypeName(container)));
  }
  ASSIGN_OR_RETURN(const Counted<Value> items, Iterate(runtime, container));
  for (const Value& candidate : items)
    if (Equal(candidate, item, budget)) return true;
  return false;
}

}  // namespace skald::chat
