#include "grammar/mask_walk.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "grammar/containers.h"
#include "grammar/key_rules.h"
#include "grammar/limits.h"

namespace skald::grammar {

MaskWalk::MaskWalk(const Form& form, std::span<uint64_t> words, Fuel* work)
    : form_(form), words_(words), work_(*work), dfa_(form) {}

bool MaskWalk::Spend(int64_t steps) {
  steps_ += steps;
  seen_steps_ += steps;
  return Steps() <= kMaskSteps;
}

bool MaskWalk::MayGoOn() {
  const int64_t steps = Steps();
  const int64_t new_steps = steps - std::exchange(seen_steps_, steps);
  return steps <= kMaskSteps && work_.Spend(new_steps);
}

bool MaskWalk::Run(const TokenTrie& trie, const RowPointer& row) {
  MakeRoom(0);
  Enter(0, dfa_.Of(row));
  return trie.Walk([&](size_t depth, uint32_t node) { return Visit(trie, depth, node); });
}

bool MaskWalk::RunInKey(const TokenTrie& trie, const RowPointer& row) {
  ends_one_key_ = true;
  key_ended_.clear();
  const bool done = Run(trie, row);
  ends_one_key_ = false;
  return done;
}

// For `depth` bytes and one more: few tokens are long.
void MaskWalk::MakeRoom(size_t depth) {
  if (depth + 1 < places_.size()) return;
  const size_t room = 2 * depth + 16;
  places_.resize(room);
  passing_.resize(room);
  path_.resize(room);
}

TokenTrie::Then MaskWalk::Visit(const TokenTrie& trie, size_t depth, uint32_t node) {
  MakeRoom(depth);
  const Step step = Read(depth, trie.byte(node));
  if (!MayGoOn()) return TokenTrie::Then::kStop;
  if (step == Step::kAlive) {
    Allow(trie.TokensAt(node));
    return TokenTrie::Then::kBelow;
  }
  // Where it is too complex whoever takes such a token is told.
  if (step == Step::kTooComplex) Allow(trie.TokensBelow(node));
  return TokenTrie::Then::kPast;
}

MaskWalk::Step MaskWalk::Read(size_t depth, uint8_t byte) {
  const Place& place = places_[depth];
  ++steps_;
  if (place.at->leaf == nullptr) {
    if (place.at->LeadsNowhere(byte)) return Step::kDead;
    return ReadRow(depth, byte);
  }
  path_[depth] = static_cast<char>(byte);
  return place.at->keys == nullptr ? ReadLeaf(depth, byte) : ReadKey(depth, byte);
}

MaskWalk::Step MaskWalk::ReadRow(size_t depth, uint8_t byte) {
  LazyDfa::State* at = places_[depth].at;
  if (at->row->begins_in_blanks && IsBlank(byte)) return ReadBlank(depth, byte);
  return Enter(depth + 1, dfa_.Next(*at, byte, &passing_[depth + 1]));
}

// Vocabularies have tokens of every number of spaces. What follows all of them is the same but for
// how many more there may be: so the row stays, and only the number moves.
MaskWalk::Step MaskWalk::ReadBlank(size_t depth, uint8_t byte) {
  const Place& place = places_[depth];
  Item item = place.at->row->items.front();
  item.state = place.state;
  const std::optional<Item> moved = ReadContainerByte(form_, item, byte);
  if (!moved.has_value()) return Step::kDead;
  places_[depth + 1] = place;
  places_[depth + 1].state = moved->state;
  return Step::kAlive;
}

MaskWalk::Step MaskWalk::ReadLeaf(size_t depth, uint8_t byte) {
  const Place& place = places_[depth];
  const Leaf& leaf = *place.at->leaf;
  uint32_t count = place.count;
  const uint32_t next = leaf.NextCounted(place.state, byte, &count);
  if (leaf.Accepts(place.state, place.count) && dfa_.WithBehind(place.at).behind_bytes[byte]) {
    if (next == Leaf::kDead)
      return Enter(depth + 1, dfa_.Next(*place.at->behind, byte, &passing_[depth + 1]));
    return EnterPassing(depth + 1, NextRow(form_, *RowOf(form_, LeafItem(place)), byte));
  }
  if (next == Leaf::kDead) return Step::kDead;
  StayInside(depth, next, count);
  if (!leaf.Accepts(next, count) || dfa_.WithBehind(place.at).behind->row->steps <= kLightSteps)
    return Step::kAlive;
  return EnterPassing(depth + 1, RowOf(form_, LeafItem(places_[depth + 1])));
}

MaskWalk::Step MaskWalk::ReadKey(size_t depth, uint8_t byte) {
  const Place& place = places_[depth];
  const uint32_t next = place.at->leaf->Next(place.state, byte);
  const Object& object = *place.at->keys;
  // A bare key may end in front of the byte.
  if (object.is_bare && object.ends[place.state] != Object::kNoMember && object.behind_keys[byte])
    return EnterPassing(depth + 1, NextRow(form_, *RowOf(form_, KeyItem(depth)), byte));
  if (next == Leaf::kDead) return Step::kDead;
  if (StaysInKey(place, next, depth + 1)) return StayInside(depth, next, 0);
  const uint32_t member = object.ends[next];
  if (ends_one_key_ && place.depth == 0 && !object.is_bare && member != Object::kNoMember)
    return EndKey(depth, member, byte);
  const std::optional<Item> moved = ReadContainerByte(form_, KeyItem(depth), byte);
  if (!moved.has_value()) return Step::kDead;
  if (grammar::Place::Of(moved->state).phase != Phase::kKey)
    return EnterPassing(depth + 1, RowOf(form_, *moved));
  return StayInside(depth, next, 0);
}

// The key of the first row ends. Only whether it may hangs on which one it is: where no other key
// ends in the same token nobody compares it with anything.
MaskWalk::Step MaskWalk::EndKey(size_t depth, uint32_t member, uint8_t byte) {
  const auto ended = key_ended_.find(member);
  if (ended == key_ended_.end() || places_[depth].at->used_keys > 0) {
    const std::optional<Item> moved = ReadContainerByte(form_, KeyItem(depth), byte);
    if (!moved.has_value()) return Step::kDead;
    if (ended == key_ended_.end())
      return Enter(depth + 1, key_ended_[member] = dfa_.Of(RowOf(form_, *moved)));
  }
  return Enter(depth + 1, ended->second);
}

// Whether a key that is at `next` behind `depth` bytes goes on whatever it is.
bool MaskWalk::StaysInKey(const Place& place, uint32_t next, size_t depth) const {
  const Object& object = *place.at->keys;
  if (object.free_keys[next] <= place.at->used_keys) return false;
  if (!object.is_bare) return object.ends[next] == Object::kNoMember;
  const ObjectRun* run = place.at->row->items.front().run.get();
  const size_t before = run == nullptr || run->key == nullptr ? 0 : run->key->length;
  return before + depth - place.depth <= kBareKeyBytesMax;
}

MaskWalk::Step MaskWalk::StayInside(size_t depth, uint32_t state, uint32_t count) {
  Place& next = places_[depth + 1];
  next = places_[depth];
  next.state = state;
  next.count = count;
  return Step::kAlive;
}

MaskWalk::Step MaskWalk::Enter(size_t depth, LazyDfa::State* state) {
  if (state == nullptr) return Step::kDead;
  const Row& row = *state->row;
  steps_ += static_cast<int64_t>(row.items.size());
  if (row.too_complex) return Step::kTooComplex;
  Place& place = places_[depth];
  place = {.at = state, .depth = static_cast<uint32_t>(depth)};
  if (row.items.empty()) return Step::kAlive;
  const Item& item = row.items.front();
  place.state = state->keys == nullptr ? item.state : grammar::Place::Of(item.state).index;
  place.count = item.count;
  return Step::kAlive;
}

MaskWalk::Step MaskWalk::EnterPassing(size_t depth, RowPointer row) {
  if (row == nullptr) return Step::kDead;
  passing_[depth] = dfa_.Passing(std::move(row));
  return Enter(depth, &passing_[depth]);
}

Item MaskWalk::LeafItem(const Place& place) const {
  Item item = place.at->row->items.front();
  item.state = place.state;
  item.count = place.count;
  return item;
}

// The item behind `depth` bytes of the walk, with the text of its key.
Item MaskWalk::KeyItem(size_t depth) const {
  const Place& place = places_[depth];
  Item item = place.at->row->items.front();
  const KeyRules rules(form_, *place.at->keys, item.context->depth);
  item.state = grammar::Place{.phase = Phase::kKey, .index = place.state}.state();
  KeyPointer key = item.run == nullptr ? nullptr : item.run->key;
  for (size_t i = place.depth; i < depth; ++i)
    key = std::make_shared<const KeyText>(std::move(key), path_[i]);
  item.run = rules.WithKey(item.run.get(), std::move(key));
  return item;
}

void MaskWalk::Allow(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) words_[token >> 6] |= uint64_t{1} << (token & 63);
}

}  // namespace skald::grammar
