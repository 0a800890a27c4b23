#include "kv/child_index.h"

#include <bit>
#include <utility>

#include "base/check.h"

namespace skald::kv {
namespace {

// At most half full: a look-up then sees 1.5 slots on average (Knuth, volume 3, section 6.4).
size_t SlotsFor(int64_t entries) { return std::bit_ceil(static_cast<size_t>(entries) * 2 + 2); }

}  // namespace

ChildIndex::ChildIndex(int64_t expected) : slots_(SlotsFor(expected)) {}

NodeId ChildIndex::Find(const EdgeKey& key) const { return slots_[SlotOf(key)].child; }

void ChildIndex::Insert(const EdgeKey& key, NodeId child) {
  CHECK(child != kNoNode);
  if (SlotsFor(size_) > slots_.size()) Grow();
  Slot& slot = slots_[SlotOf(key)];
  CHECK(slot.child == kNoNode);
  slot = {.key = key, .child = child};
  ++size_;
}

void ChildIndex::Replace(const EdgeKey& key, NodeId child) {
  Slot& slot = slots_[SlotOf(key)];
  CHECK(slot.child != kNoNode && child != kNoNode);
  slot.child = child;
}

void ChildIndex::Erase(const EdgeKey& key) {
  const size_t mask = slots_.size() - 1;
  size_t hole = SlotOf(key);
  CHECK(slots_[hole].child != kNoNode);
  // Every entry of the run behind the hole that may stand there moves up: one whose home is not
  // between the hole and itself.
  for (size_t i = (hole + 1) & mask; slots_[i].child != kNoNode; i = (i + 1) & mask) {
    const size_t from_home = (i - HomeOf(slots_[i].key)) & mask;
    const size_t from_hole = (i - hole) & mask;
    if (from_home < from_hole) continue;
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = {};
  --size_;
}

size_t ChildIndex::HomeOf(const EdgeKey& key) const {
  // The finalizer of MurmurHash3: every bit of the key reaches the low bits.
  uint64_t x = key.label ^ (static_cast<uint64_t>(key.parent) * 0x9e3779b97f4a7c15u);
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return static_cast<size_t>(x ^ (x >> 33)) & (slots_.size() - 1);
}

size_t ChildIndex::SlotOf(const EdgeKey& key) const {
  size_t i = HomeOf(key);
  while (slots_[i].child != kNoNode && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
  return i;
}

void ChildIndex::Grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  for (const Slot& slot : old) {
    if (slot.child != kNoNode) slots_[SlotOf(slot.key)] = slot;
  }
}

}  // namespace skald::kv
