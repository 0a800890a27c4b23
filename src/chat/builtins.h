/// The filters, tests, functions and methods that templates may use.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "chat/syntax_tree.h"
#include "chat/value.h"
#include "skald/status.h"

namespace skald::chat {

/// What a builtin may use of the rendering that calls it.
struct Runtime {
  Heap& heap;
  std::chrono::local_seconds now;  ///< what strftime_now tells
  CharacterIndex characters = {};
  int depth = 0;  ///< of filters that call filters
  Budget& budget() { return heap.budget(); }
};

/// The arguments of a call: first those by position, then `names.size()` by name.
struct Arguments {
  std::vector<Value> values;
  std::span<const std::string> names = {};

  size_t positional() const { return values.size() - names.size(); }
};

/// A builtin function. `self` is what stands before the "|", the "is" or the "."; for a function of
/// its own it is undefined. Errors say what was expected and found; the caller adds the line.
using BuiltinFunction = Result<Value> (*)(Runtime& runtime, const Value& self,
                                          const Arguments& arguments);

/// A filter, by its name in the source.
struct Filter {
  std::string_view name;
  BuiltinFunction function;
};
/// A test: the result is a bool.
struct ValueTest {
  std::string_view name;
  BuiltinFunction function;
};
/// A function, or a method of a type.
struct Function {
  std::string_view name;
  BuiltinFunction function;
};

/// By name, or null.
const Filter* FindFilter(std::string_view name);
const ValueTest* FindValueTest(std::string_view name);
/// namespace, raise_exception, range, strftime_now, dict: what a template can call without a value.
const Function* FindGlobal(std::string_view name);
/// The method `name` of the type of `self`, or null.
const Function* FindMethod(const Value& self, std::string_view name);

/// One table each, sorted by nothing; the look-ups above search them at parse time.
std::span<const ValueTest> ValueTests();
std::span<const Function> Globals();
std::span<const Filter> TextFilters();
std::span<const Filter> SequenceFilters();
std::span<const Function> TextMethods();
std::span<const Function> CollectionMethods(const Value& self);

/// `value.name` or `value[name]` of data: the item of a dictionary or the attribute of a namespace;
/// undefined if it is not there. Errors: `value` is undefined.
Result<Value> GetAttribute(Runtime& runtime, const Value& value, std::string_view name);
/// `value[index]`: as GetAttribute, and items of sequences and characters of texts.
Result<Value> GetItem(Runtime& runtime, const Value& value, const Value& index);
/// `value[start:stop:step]`; undefined or none bounds are left out.
Result<Value> GetSlice(Runtime& runtime, const Value& value, std::span<const Value, 3> bounds);

/// What iterating over `value` gives: items, characters, keys, as a copy. A generator is used up.
/// Errors: a type that cannot be iterated.
Result<Counted<Value>> Iterate(Runtime& runtime, const Value& value);
/// Python's len(). Errors: a type that has no length.
Result<int64_t> Length(Runtime& runtime, const Value& value);
/// Python's `item in container`.
Result<bool> Contains(Runtime& runtime, const Value& container, const Value& item);

}  // namespace skald::chat
