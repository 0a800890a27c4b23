#include "grammar/token_mask.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "grammar/containers.h"
#include "grammar/form.h"
#include "grammar/key_rules.h"
#include "grammar/lazy_dfa.h"
#include "grammar/leaf_mask.h"
#include "grammar/limits.h"
#include "grammar/mask_walk.h"
#include "grammar/token_table.h"

namespace skald::grammar {

namespace {

// Whether the count of `item` lets a leaf take so many more units.
bool HasRoom(const Leaf& leaf, const Item& item, uint64_t units) {
  return leaf.boundary.empty() || leaf.max == kUnbounded || item.count + units <= leaf.max;
}

// Whether so many keys came that of many others there may be none left.
bool HasManyUsed(const Item& item) {
  return item.run != nullptr && item.run->used_count() > Object::kManyKeys;
}

// Whether all of a slice of tokens may follow `item`.
bool TakesSlice(const ConstraintData& data, const Item& item, const TokenSlice& slice) {
  const Form& form = data.grammar.form();
  const std::vector<StateRoom>& plain = data.plain[item.rule].many;
  if (plain.empty()) return false;
  const auto has_room = [&](uint32_t state) {
    return plain[state][static_cast<size_t>(*slice.alphabet)].characters >= slice.characters;
  };
  if (const auto* leaf = std::get_if<Leaf>(&form.rules[item.rule]))
    return has_room(item.state) && HasRoom(*leaf, item, slice.characters);
  const Place place = Place::Of(item.state);
  if (place.phase != Phase::kKey || !has_room(place.index)) return false;
  const Object& object = std::get<Object>(form.rules[item.rule]);
  return !HasManyUsed(item) &&
         KeyRules(form, object, item.context->depth).TakesFreeKeys(item.run.get());
}

bool TakesWhole(const ConstraintData& data, const Row& row, const TokenSlice& slice) {
  return slice.alphabet.has_value() &&
         std::any_of(row.items.begin(), row.items.end(),
                     [&](const Item& item) { return TakesSlice(data, item, slice); });
}

// The leaf that is all of `row`, but for what goes on where it ends, if no count matters there for
// any token; else null.
const Leaf* OnlyLeaf(const ConstraintData& data, const Row& row) {
  if (!row.begins_in_leaf || row.steps > kLightSteps) return nullptr;
  const Item& item = row.items.front();
  const Leaf& leaf = std::get<Leaf>(data.grammar.form().rules[item.rule]);
  const bool may_end = leaf.boundary.empty() || item.count >= leaf.min;
  return may_end && HasRoom(leaf, item, TokenTrie::kTokenBytesMax) ? &leaf : nullptr;
}

// Which keys behind the state of `item` matter. Where none that came begins as this one each that
// may follow is free.
KeysLeft KeysLeftTo(const Object& object, const Item& item) {
  const bool none = item.run == nullptr || item.run->UsedBelow() == 0;
  return none && !object.is_bare ? KeysLeft::kAny : KeysLeft::kMany;
}

// The object whose key is all of `row`, but for what goes on behind that key, if any key that is
// not declared may come there; else null.
const Object* OnlyKey(const ConstraintData& data, const Row& row) {
  if (!row.begins_in_key) return nullptr;
  const Item& item = row.items.front();
  const Object& object = std::get<Object>(data.grammar.form().rules[item.rule]);
  const uint32_t state = Place::Of(item.state).index;
  const bool follows = KeysLeftTo(object, item) == KeysLeft::kAny
                           ? object.free_keys[state] > 0
                           : object.HasManyKeys(state) && !HasManyUsed(item);
  if (!follows) return nullptr;
  const KeyRules rules(data.grammar.form(), object, item.context->depth);
  return rules.TakesFreeKeys(item.run.get()) ? &object : nullptr;
}

// Whether `row` has several leaves, few and nothing else, and is not what one of them leads to.
bool IsFewLeaves(const ConstraintData& data, const Row& row) {
  constexpr size_t kFew = 4;
  if (row.begins_in_leaf || row.items.size() < 2 || row.items.size() > kFew) return false;
  return std::all_of(row.items.begin(), row.items.end(), [&](const Item& item) {
    return std::holds_alternative<Leaf>(data.grammar.form().rules[item.rule]);
  });
}

std::shared_ptr<const LeafMask> MaskAt(const ConstraintData& data, const Item& item, Fuel* work) {
  return data.leaf_masks->Get(
      data.grammar.form(), data.vocabulary.table(),
      {.rule = item.rule, .state = item.state, .plain = data.plain[item.rule].many[item.state]},
      work);
}

std::shared_ptr<const LeafMask> KeyMaskAt(const ConstraintData& data, const Item& item,
                                          Fuel* work) {
  const Object& object = std::get<Object>(data.grammar.form().rules[item.rule]);
  const KeysLeft keys = KeysLeftTo(object, item);
  const RulePlain& plain = data.plain[item.rule];
  const uint32_t state = Place::Of(item.state).index;
  return data.leaf_masks->Get(data.grammar.form(), data.vocabulary.table(),
                              {.rule = item.rule,
                               .state = state,
                               .plain = (keys == KeysLeft::kAny ? plain.any : plain.many)[state],
                               .keys = keys},
                              work);
}

// Rows inside of one key, where nothing asks which one it is: as long as it is not the beginning of
// a key that came, and no token ends it and then compares another key with it.
bool AllowTheSameInKey(const ConstraintData& data, const Row& a, const Row& b) {
  const Object* object = OnlyKey(data, a);
  if (object == nullptr || object->is_bare || OnlyKey(data, b) != object) return false;
  const Item& one = a.items.front();
  const Item& other = b.items.front();
  if (one.state != other.state || one.context != other.context) return false;
  if (one.run == nullptr || other.run == nullptr) return one.run == other.run;
  if (!one.run->IsSameButForKey(*other.run)) return false;
  if (one.run->UsedBelow() > 0 || other.run->UsedBelow() > 0) return false;
  // It was made for the mask that is compared with.
  Fuel none(0);
  const auto mask = KeyMaskAt(data, one, &none);
  return mask != nullptr && !mask->too_many && !mask->ends_two_keys;
}

size_t KeyLength(const Item& item) {
  return item.run == nullptr || item.run->key == nullptr ? 0 : item.run->key->length;
}

class Mask {
 public:
  Mask(const ConstraintData& data, std::span<uint64_t> words, Fuel* work)
      : data_(data), words_(words), work_(*work), walk_(data.grammar.form(), words, work) {}

  bool Allow(const RowPointer& row) {
    if (!IsFewLeaves(data_, *row)) return AllowFrom(row);
    // Each alone has a mask that was made, all together none: as behind a newline that may belong
    // to a text or begin what ends it.
    return std::all_of(row->items.begin(), row->items.end(), [&](const Item& item) {
      RowPointer one = RowOf(data_.grammar.form(), item);
      return walk_.Spend(one->steps) && AllowFrom(std::move(one));
    });
  }

 private:
  bool AllowFrom(RowPointer row) {
    while (!row->items.empty()) {
      if (const Object* object = OnlyKey(data_, *row)) return AllowInKey(row, *object);
      const Leaf* leaf = OnlyLeaf(data_, *row);
      if (leaf == nullptr) return AllowBySlices(row);
      const Item& item = row->items.front();
      const auto mask = MaskAt(data_, item, &work_);
      if (mask == nullptr) return false;
      RowPointer behind = RowBehind(data_.grammar.form(), item.context);
      if (!walk_.Spend(mask->steps + behind->steps)) return false;
      if (mask->too_many || behind->steps > kLightSteps) return AllowBySlices(row);
      Add(mask->inside);
      if (!walk_.Run(mask->leaving, behind)) return false;
      if (!leaf->accepting[item.state]) return true;
      row = std::move(behind);
    }
    return true;
  }

  bool AllowInKey(const RowPointer& row, const Object& object) {
    const Item& item = row->items.front();
    const auto mask = KeyMaskAt(data_, item, &work_);
    if (mask == nullptr) return false;
    if (!walk_.Spend(mask->steps)) return false;
    const bool has_room =
        !object.is_bare || KeyLength(item) + mask->longest <= size_t{kBareKeyBytesMax};
    if (mask->too_many || !has_room) return AllowBySlices(row);
    Add(mask->inside);
    return mask->ends_two_keys || object.is_bare ? walk_.Run(mask->leaving, row)
                                                 : walk_.RunInKey(mask->leaving, row);
  }

  bool AllowBySlices(const RowPointer& row) {
    // As where a call may begin with a control token, and nothing else goes on.
    if (NextBytes(data_.grammar.form(), *row, 1).none()) return true;
    for (const TokenSlice& slice : data_.vocabulary.table().slices()) {
      if (TakesWhole(data_, *row, slice))
        Add(slice.mask);
      else if (!walk_.Run(slice.trie, row))
        return false;
    }
    return true;
  }

  void Add(const std::vector<uint64_t>& mask) {
    for (size_t i = 0; i < mask.size(); ++i) words_[i] |= mask[i];
  }

  const ConstraintData& data_;
  const std::span<uint64_t> words_;
  Fuel& work_;
  MaskWalk walk_;
};

}  // namespace

bool AllowTokens(const ConstraintData& data, const RowPointer& row, std::span<uint64_t> words,
                 Fuel* work) {
  for (const TokenId token : NextTokens(data.grammar.form(), *row))
    words[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token & 63);
  return Mask(data, words, work).Allow(row);
}

bool AllowTheSame(const ConstraintData& data, const Row& a, const Row& b) {
  if (&a == &b) return true;
  if (a.begins_in_key && b.begins_in_key) return AllowTheSameInKey(data, a, b);
  if (OnlyLeaf(data, a) == nullptr || OnlyLeaf(data, b) == nullptr) return false;
  const Item& one = a.items.front();
  const Item& other = b.items.front();
  return one.rule == other.rule && one.state == other.state && one.context == other.context;
}

}  // namespace skald::grammar
