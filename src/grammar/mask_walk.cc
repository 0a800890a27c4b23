#include "grammar/mask_walk.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "grammar/containers.h"
#include "grammar/key_rules.h"
#include "grammar/limits.h"

namespace skald::grammar {

namespace {

constexpr size_t kFewItems = 1;

}  // namespace

MaskWalk::MaskWalk(const Form& form, std::span<uint64_t> words) : form_(form), words_(words) {}

bool MaskWalk::Spend(int64_t steps) {
  steps_ += steps;
  return steps_ <= kMaskSteps;
}

bool MaskWalk::Run(const TokenTrie& trie, const RowPointer& row) {
  MakeRoom(0);
  SetRow(0, row);
  if (places_[0].inside == kNone) places_[0].dead = DeadOf(row);
  return Walk(trie);
}

bool MaskWalk::RunInKey(const TokenTrie& trie, const RowPointer& row) {
  ends_one_key_ = true;
  key_ended_.clear();
  const bool done = Run(trie, row);
  ends_one_key_ = false;
  return done;
}

// For `depth` bytes: few tokens are long.
void MaskWalk::MakeRoom(size_t depth) {
  const size_t room = 2 * depth + 16;
  places_.resize(room);
  insides_.resize(room);
  path_.resize(room);
}

bool MaskWalk::Walk(const TokenTrie& trie) {
  for (const TokenTrie::Root& root : trie.roots()) {
    const Dead* dead = places_.front().dead;
    const bool leads_nowhere = dead != nullptr && dead->bytes[root.byte];
    if (leads_nowhere ? !Spend(1) : !WalkFrom(trie, root.node)) return false;
  }
  return true;
}

// A root, and all that is below it.
bool MaskWalk::WalkFrom(const TokenTrie& trie, uint32_t root) {
  const uint32_t end = trie.node(root).end;
  for (uint32_t i = root; i < end;) {
    const TokenTrie::Node& node = trie.node(i);
    if (places_.size() <= node.depth) MakeRoom(node.depth);
    const Step step = Read(node.depth - 1U, node.byte);
    if (steps_ > kMaskSteps) return false;
    if (step == Step::kAlive) {
      Allow(trie.TokensAt(i));
      ++i;
      continue;
    }
    // Where it is too complex whoever takes such a token is told.
    if (step == Step::kTooComplex) Allow(trie.TokensBelow(i));
    i = node.end;
  }
  return true;
}

MaskWalk::Step MaskWalk::Read(size_t depth, uint8_t byte) {
  const Place& place = places_[depth];
  path_[depth] = static_cast<char>(byte);
  ++steps_;
  if (place.inside == kNone) return ReadRow(depth, byte);
  return insides_[place.inside].keys == nullptr ? ReadLeaf(depth, byte) : ReadKey(depth, byte);
}

MaskWalk::Step MaskWalk::ReadRow(size_t depth, uint8_t byte) {
  const Place& place = places_[depth];
  if (place.dead != nullptr && place.dead->bytes[byte]) return Step::kDead;
  RowPointer next = Next(place.row, byte);
  if (next == nullptr && place.dead != nullptr) place.dead->bytes.set(byte);
  return SetRow(depth + 1, std::move(next));
}

MaskWalk::Dead* MaskWalk::DeadOf(const RowPointer& row) {
  return &dead_.try_emplace(row.get(), Dead{.row = row, .bytes = {}}).first->second;
}

MaskWalk::Step MaskWalk::ReadLeaf(size_t depth, uint8_t byte) {
  const Place& place = places_[depth];
  Inside& inside = insides_[place.inside];
  uint32_t count = place.count;
  const uint32_t next = inside.leaf->NextCounted(place.state, byte, &count);
  if (inside.leaf->Accepts(place.state, place.count) && Behind(&inside)->behind_bytes[byte]) {
    if (next == Leaf::kDead) return SetRow(depth + 1, Next(inside.behind, byte));
    return SetRow(depth + 1, NextRow(form_, *RowOf(form_, LeafItem(place)), byte));
  }
  if (next == Leaf::kDead) return Step::kDead;
  places_[depth + 1] = {.row = nullptr, .inside = place.inside, .state = next, .count = count};
  if (!inside.leaf->Accepts(next, count) || Behind(&inside)->behind->steps <= kLightSteps)
    return Step::kAlive;
  return SetRow(depth + 1, RowOf(form_, LeafItem(places_[depth + 1])));
}

MaskWalk::Step MaskWalk::ReadKey(size_t depth, uint8_t byte) {
  const Place& place = places_[depth];
  const Inside& inside = insides_[place.inside];
  const uint32_t next = inside.leaf->Next(place.state, byte);
  const Object& object = *inside.keys;
  // A bare key may end in front of the byte.
  if (object.is_bare && object.ends[place.state] != Object::kNoMember && object.behind_keys[byte])
    return SetRow(depth + 1, NextRow(form_, *RowOf(form_, KeyItem(depth)), byte));
  if (next == Leaf::kDead) return Step::kDead;
  if (StaysInKey(inside, next, depth + 1)) {
    places_[depth + 1] = {.row = nullptr, .inside = place.inside, .state = next, .count = 0};
    return Step::kAlive;
  }
  const uint32_t member = object.ends[next];
  if (ends_one_key_ && inside.depth == 0 && !object.is_bare && member != Object::kNoMember)
    return EndKey(depth, member, byte);
  const std::optional<Item> moved = ReadContainerByte(form_, KeyItem(depth), byte);
  if (!moved.has_value()) return Step::kDead;
  if (grammar::Place::Of(moved->state).phase != Phase::kKey)
    return SetRow(depth + 1, RowOf(form_, *moved));
  places_[depth + 1] = {.row = nullptr, .inside = place.inside, .state = next, .count = 0};
  return Step::kAlive;
}

// The key of the first row ends. Only whether it may hangs on which one it is: where no other key
// ends in the same token nobody compares it with anything.
MaskWalk::Step MaskWalk::EndKey(size_t depth, uint32_t member, uint8_t byte) {
  const Inside& inside = insides_[places_[depth].inside];
  const auto ended = key_ended_.find(member);
  if (ended == key_ended_.end() || inside.used_keys > 0) {
    const std::optional<Item> moved = ReadContainerByte(form_, KeyItem(depth), byte);
    if (!moved.has_value()) return Step::kDead;
    if (ended == key_ended_.end())
      return SetRow(depth + 1, key_ended_[member] = RowOf(form_, *moved));
  }
  return SetRow(depth + 1, ended->second);
}

// Whether a key that is at `next` behind `depth` bytes goes on whatever it is.
bool MaskWalk::StaysInKey(const Inside& inside, uint32_t next, size_t depth) const {
  if (inside.keys->free_keys[next] <= inside.used_keys) return false;
  if (!inside.keys->is_bare) return inside.keys->ends[next] == Object::kNoMember;
  const ObjectRun* run = inside.item.run.get();
  const size_t before = run == nullptr || run->key == nullptr ? 0 : run->key->length;
  return before + depth - inside.depth <= kBareKeyBytesMax;
}

MaskWalk::Step MaskWalk::SetRow(size_t depth, RowPointer row) {
  if (row == nullptr) return Step::kDead;
  steps_ += static_cast<int64_t>(row->items.size());
  if (row->too_complex) return Step::kTooComplex;
  places_[depth] = {.row = std::move(row)};
  EnterIfInside(depth);
  // That a byte leads nowhere is found as quickly again where few items are asked.
  const RowPointer& set = places_[depth].row;
  if (places_[depth].inside == kNone && set->items.size() > kFewItems)
    places_[depth].dead = DeadOf(set);
  return Step::kAlive;
}

void MaskWalk::EnterIfInside(size_t depth) {
  Place& place = places_[depth];
  if (place.row->items.empty()) return;
  const Item& item = place.row->items.front();
  Inside inside{.item = item, .depth = depth};
  const bool enters = place.row->begins_in_leaf
                          ? place.row->steps <= kLightSteps
                          : place.row->begins_in_key && EnterKey(item, &inside);
  if (!enters) return;
  if (inside.keys == nullptr) inside.leaf = &std::get<Leaf>(form_.rules[item.rule]);
  place.inside = static_cast<uint32_t>(depth);
  place.state = inside.keys == nullptr ? item.state : grammar::Place::Of(item.state).index;
  place.count = item.count;
  insides_[depth] = std::move(inside);
}

// Whether `item` is in a key where any that is not declared may come.
bool MaskWalk::EnterKey(const Item& item, Inside* inside) const {
  const auto* object = std::get_if<Object>(&form_.rules[item.rule]);
  if (object == nullptr) return false;
  const grammar::Place place = grammar::Place::Of(item.state);
  // Where there are more keys than came, another one is among them, whatever they were.
  const uint64_t used = item.run == nullptr ? 0 : item.run->UsedBelow();
  if (place.phase != Phase::kKey || object->free_keys[place.index] <= used) return false;
  inside->used_keys = used;
  if (!KeyRules(form_, *object, item.context->depth).TakesFreeKeys(item.run.get())) return false;
  inside->keys = object;
  inside->leaf = &object->keys;
  return true;
}

const MaskWalk::Inside* MaskWalk::Behind(Inside* inside) {
  if (inside->behind != nullptr) return inside;
  inside->behind = RowBehind(form_, inside->item.context);
  steps_ += inside->behind->steps;
  inside->behind_bytes = NextBytes(form_, *inside->behind);
  return inside;
}

RowPointer MaskWalk::Next(const RowPointer& row, uint8_t byte) {
  const uint64_t key = uint64_t{reinterpret_cast<uintptr_t>(row.get())} << 8 | byte;
  const auto made = made_.find(key);
  if (made != made_.end()) return made->second.row;
  RowPointer next = NextRow(form_, *row, byte);
  steps_ += static_cast<int64_t>(row->items.size()) + (next == nullptr ? 0 : next->steps);
  if (next != nullptr) made_.emplace(key, Made{.from = row, .row = next});
  return next;
}

Item MaskWalk::LeafItem(const Place& place) const {
  Item item = insides_[place.inside].item;
  item.state = place.state;
  item.count = place.count;
  return item;
}

// The item behind `depth` bytes of the walk, with the text of its key.
Item MaskWalk::KeyItem(size_t depth) const {
  const Inside& inside = insides_[places_[depth].inside];
  const KeyRules rules(form_, *inside.keys, inside.item.context->depth);
  Item item = inside.item;
  item.state = grammar::Place{.phase = Phase::kKey, .index = places_[depth].state}.state();
  KeyPointer key = item.run == nullptr ? nullptr : item.run->key;
  for (size_t i = inside.depth; i < depth; ++i)
    key = std::make_shared<const KeyText>(std::move(key), path_[i]);
  item.run = rules.WithKey(item.run.get(), std::move(key));
  return item;
}

void MaskWalk::Allow(std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) words_[token >> 6] |= uint64_t{1} << (token & 63);
}

}  // namespace skald::grammar
