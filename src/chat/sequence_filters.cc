// The filters that work on collections.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "chat/arguments.h"
#include "chat/builtins.h"
#include "chat/operators.h"
#include "chat/python_format.h"
#include "chat/text_operations.h"

namespace skald::chat {

namespace {

Status Refuse(std::string message) {
  return Status(ErrorCode::kInvalidArgument, std::move(message));
}

// `item.a.b` for the attribute "a.b"; numbers are indices. Undefined or none: the item itself.
Result<Value> Attribute(Runtime& runtime, const Value& item, const Value& attribute) {
  runtime.budget().Spend(1);
  if (IsUndefined(attribute) || IsNone(attribute)) return item;
  const Text* path = AsText(attribute);
  if (path == nullptr) return GetItem(runtime, item, attribute);
  Value value = item;
  for (const TextRange part : SplitAt(runtime.budget(), path->bytes(), ".", -1)) {
    const std::string name(path->bytes().substr(part.begin, part.end - part.begin));
    const bool number = !name.empty() && name.size() < 10 &&
                        name.find_first_not_of("0123456789") == std::string::npos;
    int64_t index = 0;
    for (size_t i = 0; number && i < name.size(); ++i) index = index * 10 + (name[i] - '0');
    const Value key = number ? Value(index) : Value(Text(name, Origin::kTemplate));
    ASSIGN_OR_RETURN(value, GetItem(runtime, value, key));
  }
  return value;
}

// What an item is sorted or compared by: its attribute, texts in lower case unless `exact`.
Result<Value> SortKey(Runtime& runtime, const Value& item, const Value& attribute,
                      const Value& exact) {
  ASSIGN_OR_RETURN(Value key, Attribute(runtime, item, attribute));
  const Text* text = AsText(key);
  if (text == nullptr || IsTrue(exact)) return key;
  return Value(ChangeCase(runtime.budget(), *text, CaseChange::kLower));
}

struct Keyed {
  Value key;
  Value item;
};

// Merges sorted runs of `width`: stable, and safe whatever Compare says, which may also fail.
Status MergeRuns(Runtime& runtime, Counted<Keyed>* items, size_t width) {
  Counted<Keyed> merged(runtime.budget());
  for (size_t begin = 0; begin < items->size(); begin += 2 * width) {
    size_t left = begin;
    const size_t middle = std::min(begin + width, items->size());
    size_t right = middle;
    const size_t end = std::min(begin + 2 * width, items->size());
    while (left < middle || right < end) {
      bool take_right = left == middle;
      if (left < middle && right < end) {
        ASSIGN_OR_RETURN(const int order,
                         Compare((*items)[right].key, (*items)[left].key, runtime.budget()));
        take_right = order < 0;
      }
      if (!merged.Add((*items)[take_right ? right++ : left++])) return runtime.budget().status();
    }
  }
  *items = std::move(merged);
  return Ok();
}

Result<Value> SortedList(Runtime& runtime, Counted<Keyed> items, const Value& reverse) {
  // Python reverses, sorts and reverses again: equal items keep their order.
  if (IsTrue(reverse)) std::reverse(items.begin(), items.end());
  for (size_t width = 1; width < items.size(); width *= 2)
    RETURN_IF_ERROR(MergeRuns(runtime, &items, width));
  if (IsTrue(reverse)) std::reverse(items.begin(), items.end());
  Sequence* list = runtime.heap.NewSequence();
  for (const Keyed& item : items) runtime.heap.Append(*list, item.item);
  return Value(list);
}

Result<Counted<Keyed>> WithKeys(Runtime& runtime, const Value& self, const Value& attribute,
                                const Value& exact) {
  ASSIGN_OR_RETURN(const Counted<Value> items, Iterate(runtime, self));
  Counted<Keyed> keyed(runtime.budget());
  for (const Value& item : items) {
    ASSIGN_OR_RETURN(Value key, SortKey(runtime, item, attribute, exact));
    if (!keyed.Add({std::move(key), item})) break;
  }
  return keyed;
}

Result<Value> Sort(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"reverse", "case_sensitive", "attribute"}));
  ASSIGN_OR_RETURN(Counted<Keyed> items, WithKeys(runtime, self, values[2], values[1]));
  return SortedList(runtime, std::move(items), values[0]);
}

Result<Value> DictSort(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"case_sensitive", "by", "reverse"}));
  const auto* dict = std::get_if<Dict*>(&self);
  if (dict == nullptr) return Refuse("expected a dict, found " + std::string(TypeName(self)));
  const std::string_view by = AsText(values[1]) ? AsText(values[1])->bytes() : "key";
  if (by != "key" && by != "value") return Refuse("expected to sort by 'key' or 'value'");
  Counted<Keyed> items(runtime.budget());
  for (const Dict::Entry& entry : (*dict)->entries()) {
    ASSIGN_OR_RETURN(Value key,
                     SortKey(runtime, by == "key" ? entry.key : entry.value, None{}, values[0]));
    Value pair = runtime.heap.NewSequence(SequenceKind::kTuple, {entry.key, entry.value});
    if (!items.Add({std::move(key), std::move(pair)})) break;
  }
  return SortedList(runtime, std::move(items), values[2]);
}

template <int kSign>
Result<Value> Extreme(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"case_sensitive", "attribute"}));
  ASSIGN_OR_RETURN(const Counted<Keyed> items, WithKeys(runtime, self, values[1], values[0]));
  if (items.empty()) return Value(Undefined{});
  const Keyed* best = &items[0];
  for (const Keyed& item : items) {
    if (!runtime.budget().Spend(1)) break;
    ASSIGN_OR_RETURN(const int order, Compare(item.key, best->key, runtime.budget()));
    if (order * kSign > 0) best = &item;
  }
  return best->item;
}

Result<Value> Unique(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"case_sensitive", "attribute"}));
  Budget& budget = runtime.budget();
  ASSIGN_OR_RETURN(const Counted<Keyed> items, WithKeys(runtime, self, values[1], values[0]));
  constexpr int64_t kNodeBytes = 80;  // of the set below, with what the allocator adds
  const int64_t node_bytes = kNodeBytes * static_cast<int64_t>(items.size());
  if (!budget.Hold(node_bytes)) return budget.status();
  Sequence* unique = runtime.heap.NewSequence(SequenceKind::kGenerator);
  std::set<Value, KeyLess> seen;  // what can be a key
  Counted<Value> others(budget);  // and what cannot, searched for one by one
  for (const Keyed& item : items) {
    if (!budget.Spend(1)) break;
    bool known = false;
    if (IsKey(item.key)) {
      SpendLookup(budget, seen.size(), item.key);
      known = !seen.insert(item.key).second;
    } else {
      known = std::any_of(others.begin(), others.end(), [&](const Value& other) {
        return budget.exhausted() || Equal(other, item.key, budget);
      });
      if (!known) others.Add(item.key);
    }
    if (!known) runtime.heap.Append(*unique, item.item);
  }
  budget.Return(node_bytes);
  return Value(unique);
}

Result<Value> LengthFilter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  ASSIGN_OR_RETURN(const int64_t length, Length(runtime, self));
  return Value(length);
}

Result<Value> First(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  ASSIGN_OR_RETURN(const Counted<Value> items, Iterate(runtime, self));
  return items.empty() ? Value(Undefined{}) : items[0];
}

Result<Value> Last(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  ASSIGN_OR_RETURN(const Counted<Value> items, Iterate(runtime, self));
  return items.empty() ? Value(Undefined{}) : items[items.size() - 1];
}

Result<Value> List(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  ASSIGN_OR_RETURN(Counted<Value> items, Iterate(runtime, self));
  return Value(runtime.heap.NewSequence(SequenceKind::kList, std::move(items).Release()));
}

Result<Value> ReverseFilter(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  ASSIGN_OR_RETURN(Counted<Value> items, Iterate(runtime, self));
  std::reverse(items.begin(), items.end());
  if (AsText(self) != nullptr) return Value(JoinTexts(runtime, Text(), items));
  return Value(runtime.heap.NewSequence(SequenceKind::kGenerator, std::move(items).Release()));
}

Result<Value> Join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"d", "attribute"}));
  ASSIGN_OR_RETURN(Counted<Value> items, Iterate(runtime, self));
  for (Value& item : items) {
    if (runtime.budget().exhausted()) break;
    ASSIGN_OR_RETURN(item, Attribute(runtime, item, values[1]));
  }
  return Value(JoinTexts(runtime, ToText(runtime.budget(), values[0]), items));
}

Result<Value> Items(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  Sequence* items = runtime.heap.NewSequence(SequenceKind::kGenerator);
  if (IsUndefined(self)) return Value(items);
  const auto* dict = std::get_if<Dict*>(&self);
  if (dict == nullptr) return Refuse("expected a dict, found " + std::string(TypeName(self)));
  for (const Dict::Entry& entry : (*dict)->entries()) {
    if (runtime.budget().exhausted()) break;
    runtime.heap.Append(*items,
                        runtime.heap.NewSequence(SequenceKind::kTuple, {entry.key, entry.value}));
  }
  return Value(items);
}

Result<Value> Sum(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"attribute", "start"}));
  ASSIGN_OR_RETURN(const Counted<Value> items, Iterate(runtime, self));
  int64_t whole = 0;
  double real = 0;
  bool is_whole = true;
  for (size_t i = 0; i <= items.size() && runtime.budget().Spend(1); ++i) {
    Value value = IsUndefined(values[1]) ? Value(int64_t{0}) : values[1];
    if (i > 0) {
      ASSIGN_OR_RETURN(value, Attribute(runtime, items[i - 1], values[0]));
    }
    int64_t storage = 0;
    double number = 0;
    const int64_t* item = AsInt(value, &storage);
    if (!AsDouble(value, &number))
      return Refuse("expected numbers, found " + std::string(TypeName(value)));
    is_whole = is_whole && item != nullptr;
    real += number;
    if (is_whole && __builtin_add_overflow(whole, *item, &whole))
      return Refuse("a whole number does not fit into 64 bits");
  }
  return is_whole ? Value(whole) : Value(real);
}

Result<Value> Default(Runtime&, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"default_value", "boolean"}));
  if (!IsUndefined(self) && (!IsTrue(values[1]) || IsTrue(self))) return self;
  return arguments.values.empty() ? Value(Text()) : values[0];
}

Result<Value> Attr(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"name"}, 1));
  const Text* name = AsText(values[0]);
  if (name == nullptr) return Refuse("expected the name of an attribute");
  // Items of dictionaries are no attributes.
  if (std::get_if<Dict*>(&self) != nullptr) return Value(Undefined{});
  return GetAttribute(runtime, self, name->bytes());
}

// The arguments from `from` on, for a filter or test that is called by name.
Arguments Rest(Budget& budget, const Arguments& arguments, size_t from) {
  budget.Spend(static_cast<int64_t>(arguments.values.size()));
  Arguments rest = arguments;
  rest.values.erase(rest.values.begin(), rest.values.begin() + static_cast<std::ptrdiff_t>(from));
  return rest;
}

Result<Value> Map(Runtime& runtime, const Value& self, const Arguments& arguments) {
  Sequence* mapped = runtime.heap.NewSequence(SequenceKind::kGenerator);
  if (!IsTrue(self)) return Value(mapped);  // as Jinja: nothing, also of none
  ASSIGN_OR_RETURN(const Counted<Value> items, Iterate(runtime, self));
  if (arguments.positional() == 0) {
    ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"attribute", "default"}, 1));
    for (const Value& item : items) {
      if (runtime.budget().exhausted()) break;
      ASSIGN_OR_RETURN(Value value, Attribute(runtime, item, values[0]));
      runtime.heap.Append(*mapped, IsUndefined(value) ? values[1] : value);
    }
    return Value(mapped);
  }
  const Text* name = AsText(arguments.values[0]);
  const Filter* filter = name == nullptr ? nullptr : FindFilter(name->bytes());
  if (filter == nullptr) return Refuse("expected the name of a filter, or an attribute");
  // A filter that is told to call filters that call filters.
  const Level level(&runtime.depth);
  if (runtime.depth > kMaxValueDepth) {
    return Status(ErrorCode::kResourceExhausted,
                  "filters are nested too deeply; expected at most " +
                      std::to_string(kMaxValueDepth) + " levels");
  }
  const Arguments rest = Rest(runtime.budget(), arguments, 1);
  for (const Value& item : items) {
    if (!runtime.budget().Spend(1)) break;
    ASSIGN_OR_RETURN(const Value value, filter->function(runtime, item, rest));
    runtime.heap.Append(*mapped, value);
  }
  return Value(mapped);
}

// select, reject, selectattr, rejectattr: the items for which a test holds, or does not.
template <bool kWanted, bool kByAttribute>
Result<Value> Select(Runtime& runtime, const Value& self, const Arguments& arguments) {
  Sequence* selected = runtime.heap.NewSequence(SequenceKind::kGenerator);
  if (!IsTrue(self)) return Value(selected);  // as Jinja: nothing, also of none
  ASSIGN_OR_RETURN(const Counted<Value> items, Iterate(runtime, self));
  constexpr size_t kTestAt = kByAttribute ? 1 : 0;
  if (kByAttribute && arguments.positional() == 0)
    return Refuse("expected the name of an attribute");
  const ValueTest* test = nullptr;
  Arguments rest;
  if (arguments.positional() > kTestAt) {
    const Text* name = AsText(arguments.values[kTestAt]);
    test = name == nullptr ? nullptr : FindValueTest(name->bytes());
    if (test == nullptr) return Refuse("expected the name of a test");
    rest = Rest(runtime.budget(), arguments, kTestAt + 1);
  }
  for (const Value& item : items) {
    if (!runtime.budget().Spend(1)) break;
    Value value = item;
    if (kByAttribute) {
      ASSIGN_OR_RETURN(value, Attribute(runtime, item, arguments.values[0]));
    }
    if (test != nullptr) {
      ASSIGN_OR_RETURN(value, test->function(runtime, value, rest));
    }
    if (IsTrue(value) == kWanted) runtime.heap.Append(*selected, item);
  }
  return Value(selected);
}

// A filter that Python runs when its result is walked over: what fails, fails only then.
template <BuiltinFunction kFilter>
Result<Value> Lazy(Runtime& runtime, const Value& self, const Arguments& arguments) {
  Result<Value> result = kFilter(runtime, self, arguments);
  if (result.ok() || result.status().code() != ErrorCode::kInvalidArgument) return result;
  Sequence* generator = runtime.heap.NewSequence(SequenceKind::kGenerator);
  generator->error = result.status().message();
  runtime.budget().Hold(static_cast<int64_t>(generator->error.size()));
  return Value(generator);
}

constexpr Filter kFilters[] = {
    {"length", LengthFilter},
    {"count", LengthFilter},
    {"first", First},
    {"last", Last},
    {"list", List},
    {"reverse", ReverseFilter},
    {"join", Join},
    {"items", Lazy<Items>},
    {"sort", Sort},
    {"dictsort", DictSort},
    {"min", Extreme<-1>},
    {"max", Extreme<1>},
    {"unique", Lazy<Unique>},
    {"sum", Sum},
    {"default", Default},
    {"d", Default},
    {"attr", Attr},
    {"map", Lazy<Map>},
    {"select", Lazy<Select<true, false>>},
    {"reject", Lazy<Select<false, false>>},
    {"selectattr", Lazy<Select<true, true>>},
    {"rejectattr", Lazy<Select<false, true>>},
};

}  // namespace

std::span<const Filter> SequenceFilters() { return kFilters; }

}  // namespace skald::chat
