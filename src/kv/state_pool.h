/// StatePool: who holds which state slot. Integers only; the bytes are in state_store.h.
///
/// A slot belongs to one sequence, to one place in the prefix tree (a snapshot), or to nobody. What
/// it holds is what the recurrent layers carry behind some token, so it can be neither shared nor
/// cut back: a sequence that goes on from there has a slot of its own, with a copy, and a sequence
/// that lets go may leave its slot in the tree. Accounting is conserved, always:
///
///     free (nobody) + held (a sequence, or a place in the tree) = total
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kv/state_id.h"

namespace skald::kv {

class StatePool;

/// A slot that somebody holds, or none. Move-only; gives it back by itself.
class StateSlot {
 public:
  StateSlot() = default;
  ~StateSlot() { Release(); }
  StateSlot(StateSlot&& other) noexcept;
  StateSlot& operator=(StateSlot&& other) noexcept;
  StateSlot(const StateSlot&) = delete;
  StateSlot& operator=(const StateSlot&) = delete;

  /// kNoState for none.
  StateId id() const { return id_; }
  bool holds() const { return id_ != kNoState; }
  /// Gives the slot back; what stands in it is meaningless from then on.
  void Release();

 private:
  friend class StatePool;
  StateSlot(StatePool* pool, StateId id) : pool_(pool), id_(id) {}

  StatePool* pool_ = nullptr;
  StateId id_ = kNoState;
};

/// Not thread-safe: the engine thread owns it. All memory is taken at construction. It must outlive
/// its slots. Every function but CheckIntegrity is O(1).
class StatePool {
 public:
  /// A pool of `slot_count` >= 0 free slots.
  explicit StatePool(int64_t slot_count);
  StatePool(const StatePool&) = delete;
  StatePool& operator=(const StatePool&) = delete;

  /// A free slot, or none if none is left.
  StateSlot Take();

  /// One above the highest slot that anybody has had.
  int64_t used_end() const { return used_end_; }

  int64_t free_count() const { return static_cast<int64_t>(free_.size()); }
  int64_t held_count() const { return total_count() - free_count(); }
  int64_t total_count() const { return static_cast<int64_t>(held_.size()); }
  bool is_held(StateId id) const;

  /// Recounts everything. Empty if all is well, else one line that says what is wrong. O(total).
  std::string CheckIntegrity() const;

 private:
  friend class StateSlot;
  void GiveBack(StateId id);

  std::vector<StateId> free_;  // a stack: the slot given back last is still warm in the cache
  std::vector<bool> held_;     // by slot
  int64_t used_end_ = 0;
};

}  // namespace skald::kv
