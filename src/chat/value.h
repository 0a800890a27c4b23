/// Value: what a template computes with. Python's types, as far as templates use them.
///
/// A value is small and cheap to copy. Numbers are held in place, texts are shared, and collections
/// are pointers into a Heap that owns them until the rendering ends: so collections may contain
/// each other in any way, as in Python, and freeing them never recurses.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chat/budget.h"
#include "chat/text.h"

namespace skald::chat {

class Dict;
struct Callable;
struct LoopState;
struct Sequence;

/// A name or attribute that is not there. Prints as nothing, is false, has no items; most other
/// uses are errors.
struct Undefined {
  std::string_view name;  ///< as in the source of the template; may be empty
};
struct None {};

/// A dictionary in the role of `namespace()`: its attributes can be assigned.
struct Namespace {
  Dict* attributes;
};

using Value = std::variant<Undefined, None, bool, int64_t, double, Text, Sequence*, Dict*,
                           Namespace, LoopState*, const Callable*>;

/// What Python would call a sequence of values.
enum class SequenceKind : uint8_t {
  kList,
  kTuple,
  kRange,
  kView,       ///< dict.keys(), .values(), .items(): can be counted, not indexed
  kGenerator,  ///< of filters such as map: can be walked once
};

/// A list and its relatives.
struct Sequence {
  SequenceKind kind = SequenceKind::kList;
  std::vector<Value> items;
  /// Of a generator: why walking over it fails. Python finds out no earlier.
  std::string error = {};
};

/// A total order of keys: none, then numbers by value (True is 1), then texts by their bytes. Keys
/// that neither stands before are one key, as in Python: 1, 1.0 and True. All NaNs are one.
struct KeyLess {
  using is_transparent = void;
  bool operator()(const Value& left, const Value& right) const;
  bool operator()(const Value& left, std::string_view right) const;
  bool operator()(std::string_view left, const Value& right) const;
};

/// Spends the steps of finding `key` among `count` ordered ones.
void SpendLookup(Budget& budget, size_t count, const Value& key);

/// Entries in the order of insertion. Keys are texts, numbers, booleans or none. Large ones have an
/// index that is ordered, not hashed: no choice of keys makes it slow.
class Dict {
 public:
  struct Entry {
    Value key;
    Value value;
  };
  const std::vector<Entry>& entries() const { return entries_; }

  /// The value of `key`, or null. O(log n) comparisons, whose steps are spent.
  const Value* Get(const Value& key, Budget& budget) const;
  const Value* Get(std::string_view key, Budget& budget) const;
  /// Adds an entry or changes its value.
  void Set(const Value& key, const Value& value, Budget& budget);
  /// Removes `key`; false if it was not there. Linear.
  bool Remove(const Value& key, Budget& budget);

 private:
  template <typename Key>
  size_t IndexOf(const Key& key, Budget& budget) const;  // entries_.size() if not there

  static constexpr size_t kIndexFrom = 8;  // smaller dictionaries are searched
  std::vector<Entry> entries_;
  std::map<Value, size_t, KeyLess> index_;  // places in entries_, from kIndexFrom entries on
};

struct Macro;
class Scope;
struct Function;

/// Something a template can call: exactly one of `function` and `macro` is set.
struct Callable {
  const Function* function = nullptr;  // with `self`, if it is a method
  const Macro* macro = nullptr;        // with the scope it was defined in
  Value self = Undefined{};
  const Scope* scope = nullptr;
};

/// What the variable `loop` knows.
struct LoopState {
  const Sequence* items = nullptr;
  size_t index = 0;
};

/// Owns the collections of one rendering. What is added is counted by the budget; beyond it nothing
/// is added any more.
class Heap {
 public:
  explicit Heap(Budget& budget) : budget_(budget) {}

  Sequence* NewSequence(SequenceKind kind = SequenceKind::kList);
  Sequence* NewSequence(SequenceKind kind, std::vector<Value> items);
  Dict* NewDict();
  const Callable* NewCallable(Callable callable);
  LoopState* NewLoop(LoopState loop);
  void Append(Sequence& sequence, const Value& value);
  /// A copy of `key` and `value`. Steps: of finding the key.
  void Set(Dict& dict, const Value& key, const Value& value);

  Budget& budget() { return budget_; }

 private:
  Budget& budget_;
  std::deque<Sequence> sequences_;
  std::deque<Dict> dicts_;
  std::deque<Callable> callables_;
  std::deque<LoopState> loops_;
};

/// Python's name of the type: "str", "int", "NoneType", "list", "Undefined", ...
std::string_view TypeName(const Value& value);
/// Python's bool(value).
bool IsTrue(const Value& value);

inline const Text* AsText(const Value& value) { return std::get_if<Text>(&value); }
inline bool IsUndefined(const Value& value) { return std::holds_alternative<Undefined>(value); }
inline bool IsNone(const Value& value) { return std::holds_alternative<None>(value); }

/// The whole number that `value` is (True is 1), or null.
const int64_t* AsInt(const Value& value, int64_t* storage);
/// The number that `value` is, as a double; false if it is none.
bool AsDouble(const Value& value, double* number);

/// Python's "==": numbers by value, texts by their bytes, collections by their items. Collections
/// nested deeper than kMaxValueDepth, such as a list in itself, are unequal.
bool Equal(const Value& left, const Value& right, Budget& budget, int depth = 0);

/// Python's order: -1, 0 or 1. Errors: types that have no order.
Result<int> Compare(const Value& left, const Value& right, Budget& budget, int depth = 0);

}  // namespace skald::chat
