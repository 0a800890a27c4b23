#include "kv/state_pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace skald::kv {

StateSlot::StateSlot(StateSlot&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), id_(std::exchange(other.id_, kNoState)) {}

StateSlot& StateSlot::operator=(StateSlot&& other) noexcept {
  if (this == &other) return *this;
  Release();
  pool_ = std::exchange(other.pool_, nullptr);
  id_ = std::exchange(other.id_, kNoState);
  return *this;
}

void StateSlot::Release() {
  if (holds()) pool_->GiveBack(std::exchange(id_, kNoState));
}

StatePool::StatePool(int64_t slot_count) {
  CHECK(slot_count >= 0 && slot_count <= std::numeric_limits<StateId>::max());
  held_.resize(static_cast<size_t>(slot_count));
  free_.reserve(static_cast<size_t>(slot_count));
  // Lowest slot first: the rest of the arena stays untouched until it is needed.
  for (int64_t slot = slot_count; slot > 0; --slot) free_.push_back(static_cast<StateId>(slot - 1));
}

StateSlot StatePool::Take() {
  if (free_.empty()) return {};
  const StateId id = free_.back();
  free_.pop_back();
  held_[static_cast<size_t>(id)] = true;
  used_end_ = std::max<int64_t>(used_end_, int64_t{id} + 1);
  return {this, id};
}

bool StatePool::is_held(StateId id) const {
  CHECK(id >= 0 && id < total_count());
  return held_[static_cast<size_t>(id)];
}

void StatePool::GiveBack(StateId id) {
  CHECK(is_held(id));
  held_[static_cast<size_t>(id)] = false;
  free_.push_back(id);
}

std::string StatePool::CheckIntegrity() const {
  for (const StateId id : free_) {
    if (is_held(id)) return "state pool: a free slot has a holder";
  }
  const auto held = std::count(held_.begin(), held_.end(), true);
  if (held != held_count()) return "state pool: the free list does not match the holders";
  return {};
}

}  // namespace skald::kv
