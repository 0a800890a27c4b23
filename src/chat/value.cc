#include "chat/value.h"

#include <algorithm>

#include "base/status_macros.h"

namespace skald::chat {

namespace {

// Keys that are equal by Python's rules: 1, 1.0 and True are one key.
bool SameKey(const Value& a, const Value& b) {
  double x = 0;
  double y = 0;
  if (AsDouble(a, &x)) return AsDouble(b, &y) && x == y;
  if (IsNone(a)) return IsNone(b);
  if (const Text* text = AsText(a)) {
    const Text* other = AsText(b);
    return other != nullptr && text->bytes() == other->bytes();
  }
  return false;
}

}  // namespace

size_t Dict::IndexOf(const Value& key) const {
  const Text* text = AsText(key);
  if (text != nullptr && entries_.size() >= kIndexFrom) {
    const auto found = index_.find(text->bytes());
    return found == index_.end() ? entries_.size() : found->second;
  }
  for (size_t i = 0; i < entries_.size(); ++i)
    if (SameKey(entries_[i].key, key)) return i;
  return entries_.size();
}

const Value* Dict::Get(const Value& key) const {
  const size_t at = IndexOf(key);
  return at < entries_.size() ? &entries_[at].value : nullptr;
}

const Value* Dict::Get(std::string_view key) const {
  if (entries_.size() >= kIndexFrom) {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &entries_[found->second].value;
  }
  for (const Entry& entry : entries_) {
    const Text* text = AsText(entry.key);
    if (text != nullptr && text->bytes() == key) return &entry.value;
  }
  return nullptr;
}

void Dict::Set(const Value& key, const Value& value) {
  const size_t at = IndexOf(key);
  if (at < entries_.size()) {
    entries_[at].value = value;
    return;
  }
  entries_.push_back({key, value});
  // The views of the index point to the bytes of the keys, which are shared and do not move.
  const size_t first = entries_.size() == kIndexFrom ? 0 : entries_.size() - 1;
  for (size_t i = first; entries_.size() >= kIndexFrom && i < entries_.size(); ++i) {
    if (const Text* text = AsText(entries_[i].key)) index_[text->bytes()] = i;
  }
}

bool Dict::Remove(const Value& key) {
  const size_t at = IndexOf(key);
  if (at == entries_.size()) return false;
  index_.clear();
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  for (size_t i = 0; entries_.size() >= kIndexFrom && i < entries_.size(); ++i) {
    if (const Text* text = AsText(entries_[i].key)) index_[text->bytes()] = i;
  }
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
  if (budget_.Take(sizeof(Value))) sequence.items.push_back(value);
}

void Heap::Set(Dict& dict, const Value& key, const Value& value) {
  // An entry with its place in the index. Keys that are no texts are searched for: steps of that.
  constexpr int64_t kEntryBytes = 128;
  if (!budget_.Spend(AsText(key) ? 1 : static_cast<int64_t>(dict.entries().size()))) return;
  if (budget_.Take(kEntryBytes)) dict.Set(key, value);
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
    const Value* other = b.Get(entry.key);
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
    return text->size() == other.size() && budget.Spend(static_cast<int64_t>(other.size() / 64)) &&
           text->bytes() == other;
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
  if (AsText(left) != nullptr && AsText(right) != nullptr)
    return sign(AsText(left)->bytes().compare(AsText(right)->bytes()), 0);  // UTF-8 keeps the order
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
