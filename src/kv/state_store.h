/// StateStore: the bytes of all state slots. Only the model and the kernels look inside.
///
///     arena   [slot]{ layer | layer | ... }       each layer from a multiple of 64 bytes on
///
/// A slot is one block, because a step reads and writes all of it, and a fork copies all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "kv/state_id.h"
#include "skald/status.h"

namespace skald::kv {

/// How large the slots are, and how many.
struct StateShape {
  int64_t floats = 0;  ///< of a slot, a multiple of 16; 0 for a network that carries nothing
  int64_t slots = 0;
};

class StateStore {
 public:
  /// Reserves the slots, committed on first touch. Errors: kResourceExhausted with the number of
  /// bytes.
  static Result<StateStore> Create(const StateShape& shape);

  const StateShape& shape() const { return shape_; }
  int64_t bytes() const { return static_cast<int64_t>(arena_.size()); }
  int64_t slot_bytes() const { return shape_.floats * int64_t{sizeof(float)}; }

  /// The floats of a slot, aligned to 64 bytes. What stands there before the first row of a
  /// sequence is meaningless: a step that computes position 0 writes its own beginning.
  float* Slot(StateId id);

  /// Has the system give memory to some 2 MiB more of the first `slots` slots, as KvStore does.
  bool CommitNext(int64_t slots);

  /// From now on `to` holds what stands in `from`. The copy itself is made by the next step, which
  /// needs those bytes in its caches anyway, with all its threads; or sooner, where one of the two
  /// slots is saved, loaded or poisoned. O(1). Must not run while a step does.
  void Copy(const StateCopy& copy);

  /// For a step: whether there are copies to make before it looks into a part of slots, and `count`
  /// floats of each from `first` on. Threads may make different parts at the same time. When all
  /// are made, ForgetCopies.
  bool HasCopies() const { return !copies_.empty(); }
  void MakeCopies(int64_t first, int64_t count);
  void ForgetCopies() { copies_.clear(); }

  /// Copies bytes of a slot out, and back in: those from `begin` on.
  void Save(StateId id, int64_t begin, std::span<std::byte> bytes);
  void Load(StateId id, int64_t begin, std::span<const std::byte> bytes);

  /// Fills a slot with NaN. For tests: a read of what another sequence left shows at once.
  void Poison(StateId id);

 private:
  StateStore(const StateShape& shape, AlignedBuffer arena);
  std::byte* Bytes(StateId id, int64_t begin, size_t count);
  void SettleCopiesOf(StateId id);

  StateShape shape_;
  AlignedBuffer arena_;
  int64_t committed_bytes_ = 0;    // by CommitNext
  std::vector<StateCopy> copies_;  // still to be made, each after those before it
};

}  // namespace skald::kv
