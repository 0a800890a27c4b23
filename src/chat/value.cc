#include "chat/value.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/status_macros.h"

namespace skald::chat {

namespace {

// Where a key stands among others of its kind: texts behind numbers behind none.
int Rank(const Value& key) {
  if (AsText(key) != nullptr) return 2;
  double number = 0;
  return AsDouble(key, &number) ? 1 : 0;
}

// Whether `whole` is less than `real`, which is no NaN, by their exact values.
bool Less(int64_t whole, double real) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (real >= kTwoTo63) return true;
  if (real < -kTwoTo63) return false;
  const auto truncated = static_cast<int64_t>(real);
  return whole != truncated ? whole < truncated : static_cast<double>(truncated) < real;
}
bool Less(double real, int64_t whole) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (real >= kTwoTo63) return false;
  if (real < -kTwoTo63) return true;
  const auto truncated = static_cast<int64_t>(real);
  return whole != truncated ? truncated < whole : real < static_cast<double>(truncated);
}

bool NumberLess(const Value& left, const Value& right) {
  int64_t a_storage = 0;
  int64_t b_storage = 0;
  const int64_t* a = AsInt(left, &a_storage);
  const int64_t* b = AsInt(right, &b_storage);
  const double x = a == nullptr ? std::get<double>(left) : 0;
  const double y = b == nullptr ? std::get<double>(right) : 0;
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && !std::isnan(y);  // NaN stands first
  if (a != nullptr) return b != nullptr ? *a < *b : Less(*a, y);
  return b != nullptr ? Less(x, *b) : x < y;
}

size_t KeyBytes(std::string_view key) { return key.size(); }
size_t KeyBytes(const Value& key) { return AsText(key) != nullptr ? AsText(key)->size() : 0; }

// Each level of an ordered tree waits for memory and compares a key.
void SpendComparisons(Budget& budget, size_t count, size_t key_bytes) {
  constexpr int kLevelsPerStep = 4;
  const auto levels = static_cast<int>(std::bit_width(count));
  budget.Spend(levels / kLevelsPerStep);
  for (int i = 0; i < levels; ++i) budget.Scan(key_bytes);
}

}  // namespace

void SpendLookup(Budget& budget, size_t count, const Value& key) {
  SpendComparisons(budget, count, KeyBytes(key));
}

bool KeyLess::operator()(const Value& left, const Value& right) const {
  const int a = Rank(left);
  const int b = Rank(right);
  if (a != b) return a < b;
  if (a == 2) return AsText(left)->bytes() < AsText(right)->bytes();
  return a == 1 && NumberLess(left, right);
}
bool KeyLess::operator()(const Value& left, std::string_view right) const {
  const Text* text = AsText(left);
  return text == nullptr || text->bytes() < right;
}
bool KeyLess::operator()(std::string_view left, const Value& right) const {
  const Text* text = AsText(right);
  return text != nullptr && left < text->bytes();
}

template <typename Key>
size_t Dict::IndexOf(const Key& key, Budget& budget) const {
  if (entries_.size() < kIndexFrom) {
    budget.Scan(KeyBytes(key));
    const KeyLess less;
    for (size_t i = 0; i < entries_.size(); ++i)
      if (!less(entries_[i].key, key) && !less(key, entries_[i].key)) return i;
    return entries_.size();
  }
  SpendComparisons(budget, entries_.size(), KeyBytes(key));
  const auto found = index_.find(key);
  return found == index_.end() ? entries_.size() : found->second;
}

const Value* Dict::Get(const Value& key, Budget& budget) const {
  if (Rank(key) == 0 && !IsNone(key)) return nullptr;
  const size_t at = IndexOf(key, budget);
  return at < entries_.size() ? &entries_[at].value : nullptr;
}

const Value* Dict::Get(std::string_view key, Budget& budget) const {
  const size_t at = IndexOf(key, budget);
  return at < entries_.size() ? &entries_[at].value : nullptr;
}

void Dict::Set(const Value& key, const Value& value, Budget& budget) {
  const size_t at = IndexOf(key, budget);
  if (at < entries_.size()) {
    entries_[at].value = value;
    return;
  }
  entries_.push_back({key, value});
  const size_t first = entries_.size() == kIndexFrom ? 0 : entries_.size() - 1;
  for (size_t i = first; entries_.size() >= kIndexFrom && i < entries_.size(); ++i)
    index_.emplace(entries_[i].key, i);
}

bool Dict::Remove(const Value& key, Budget& budget) {
  const size_t at = IndexOf(key, budget);
  if (at == entries_.size()) return false;
  budget.Spend(static_cast<int64_t>(entries_.size() - at));
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  if (entries_.size() < kIndexFrom) {
    index_.clear();
    return true;
  }
  index_.erase(key);
  for (size_t i = at; i < entries_.size(); ++i) index_.find(entries_[i].key)->second = i;
  return true;
}

Sequence* Heap::NewSequence(SequenceKind kind) { return NewSequence(kind, {}); }

Sequence* Heap::NewSequence(SequenceKind kind, std::vector<Value> items) {
  if (!budget_.Take(static_cast<int64_t>(sizeof(Sequence) + items.size() * sizeof(Value))))
    items.clear();
  return &sequences_.emplace_back(Sequence{kind, std::move(items), {}});
}

Dict* Heap::NewDict() {
  budget_.Take(sizeof(Dict));
  return &dicts_.emplace_back();
}

const Callable* Heap::NewCallable(Callable callable) {
  budget_.Take(sizeof(Callable));
  return &callables_.emplace_back(std::move(callable));
}

LoopState* Heap::NewLoop(LoopState loop) {
  budget_.Take(sizeof(LoopState));
  return &loops_.emplace_back(loop);
}

void Heap::Append(Sequence& sequence, const Value& value) {
  // A vector may have room for twice what it holds.
  if (budget_.Take(2 * sizeof(Value))) sequence.items.push_back(value);
}

void Heap::Set(Dict& dict, const Value& key, const Value& value) {
  // An entry, in a vector that may have room for twice as many, and its place in the index: a node
  // of a map with what the allocator adds.
  constexpr int64_t kEntryBytes = 2 * sizeof(Dict::Entry) + 96;
  if (budget_.Spend(1) && budget_.Hold(kEntryBytes)) dict.Set(key, value, budget_);
}

std::string_view TypeName(const Value& value) {
  constexpr std::string_view kNames[] = {"Undefined", "NoneType",    "bool",    "int",
                                         "float",     "str",         "list",    "dict",
                                         "Namespace", "LoopContext", "function"};
  if (const auto* sequence = std::get_if<Sequence*>(&value)) {
    constexpr std::string_view kSequences[] = {"list", "tuple", "range", "dict view", "generator"};
    return kSequences[static_cast<size_t>((*sequence)->kind)];
  }
  return kNames[value.index()];
}

bool IsTrue(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (const int64_t* number = std::get_if<int64_t>(&value)) return *number != 0;
  if (const double* number = std::get_if<double>(&value)) return *number != 0;
  if (const Text* text = AsText(value)) return !text->empty();
  if (const auto* sequence = std::get_if<Sequence*>(&value))
    return (*sequence)->kind == SequenceKind::kGenerator || !(*sequence)->items.empty();
  if (const auto* dict = std::get_if<Dict*>(&value)) return !(*dict)->entries().empty();
  return !IsUndefined(value) && !IsNone(value);
}

const int64_t* AsInt(const Value& value, int64_t* storage) {
  if (const int64_t* number = std::get_if<int64_t>(&value)) return number;
  const bool* flag = std::get_if<bool>(&value);
  if (flag == nullptr) return nullptr;
  *storage = *flag ? 1 : 0;
  return storage;
}

bool AsDouble(const Value& value, double* number) {
  int64_t storage = 0;
  if (const int64_t* whole = AsInt(value, &storage)) {
    *number = static_cast<double>(*whole);
    return true;
  }
  const double* real = std::get_if<double>(&value);
  if (real != nullptr) *number = *real;
  return real != nullptr;
}

namespace {

bool EqualSequences(const Sequence& a, const Sequence& b, Budget& budget, int depth) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.kind == SequenceKind::kGenerator || a.items.size() != b.items.size())
    return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!Equal(a.items[i], b.items[i], budget, depth)) return false;
  return true;
}

bool EqualDicts(const Dict& a, const Dict& b, Budget& budget, int depth) {
  if (a.entries().size() != b.entries().size()) return false;
  for (const Dict::Entry& entry : a.entries()) {
    const Value* other = b.Get(entry.key, budget);
    if (other == nullptr || !Equal(entry.value, *other, budget, depth)) return false;
  }
  return true;
}

}  // namespace

bool Equal(const Value& left, const Value& right, Budget& budget, int depth) {
  if (depth > kMaxValueDepth || !budget.Spend(1)) return false;
  int64_t a_storage = 0;
  int64_t b_storage = 0;
  const int64_t* a_whole = AsInt(left, &a_storage);
  const int64_t* b_whole = AsInt(right, &b_storage);
  if (a_whole != nullptr && b_whole != nullptr) return *a_whole == *b_whole;
  double x = 0;
  double y = 0;
  if (AsDouble(left, &x)) return AsDouble(right, &y) && x == y;
  if (left.index() != right.index()) return false;
  if (const Text* text = AsText(left)) {
    const std::string_view other = AsText(right)->bytes();
    return text->size() == other.size() && budget.Scan(other.size()) && text->bytes() == other;
  }
  if (const auto* sequence = std::get_if<Sequence*>(&left))
    return EqualSequences(**sequence, *std::get<Sequence*>(right), budget, depth + 1);
  if (const auto* dict = std::get_if<Dict*>(&left))
    return EqualDicts(**dict, *std::get<Dict*>(right), budget, depth + 1);
  if (const auto* space = std::get_if<Namespace>(&left))
    return space->attributes == std::get<Namespace>(right).attributes;
  if (const auto* callable = std::get_if<const Callable*>(&left))
    return *callable == std::get<const Callable*>(right);
  return true;  // None, Undefined, loop
}

Result<int> Compare(const Value& left, const Value& right, Budget& budget, int depth) {
  const auto sign = [](auto a, auto b) { return a < b ? -1 : (b < a ? 1 : 0); };
  budget.Spend(1);
  int64_t a_storage = 0;
  int64_t b_storage = 0;
  const int64_t* a_whole = AsInt(left, &a_storage);
  const int64_t* b_whole = AsInt(right, &b_storage);
  if (a_whole != nullptr && b_whole != nullptr) return sign(*a_whole, *b_whole);
  double x = 0;
  double y = 0;
  if (AsDouble(left, &x) && AsDouble(right, &y)) return sign(x, y);
  if (AsText(left) != nullptr && AsText(right) != nullptr) {
    budget.Scan(std::min(AsText(left)->size(), AsText(right)->size()));
    return sign(AsText(left)->bytes().compare(AsText(right)->bytes()), 0);  // UTF-8 keeps the order
  }
  const auto* a = std::get_if<Sequence*>(&left);
  const auto* b = std::get_if<Sequence*>(&right);
  if (a != nullptr && b != nullptr && (*a)->kind == (*b)->kind && depth < kMaxValueDepth &&
      ((*a)->kind == SequenceKind::kList || (*a)->kind == SequenceKind::kTuple)) {
    const size_t shorter = std::min((*a)->items.size(), (*b)->items.size());
    for (size_t i = 0; i < shorter && !budget.exhausted(); ++i) {
      if (Equal((*a)->items[i], (*b)->items[i], budget)) continue;
      return Compare((*a)->items[i], (*b)->items[i], budget, depth + 1);
    }
    return sign((*a)->items.size(), (*b)->items.size());
  }
  return Status(ErrorCode::kInvalidArgument, "cannot compare " + std::string(TypeName(left)) +
                                                 " with " + std::string(TypeName(right)) +
                                                 "; expected two numbers or two strings");
}

}  // namespace skald::chat
