/// Groups: the rows of a step, sorted by the experts that they go to. Internal to experts/.
#pragma once

#include <cstdint>
#include <span>

#include "model/blocks/linear.h"

namespace skald::model {

/// The rows of a step that go to one expert. Every use of an expert by a row is a slot; the slots
/// of a group are consecutive, in the order of the rows.
struct Group {
  int64_t expert;
  RowRange slots;
  int64_t first_chunk;  ///< of the groups before it, in chunks of a tile
};

/// Who uses which expert, and where the order of the experts goes. Uses are in the order of rows.
struct Uses {
  int64_t count = 0;                ///< rows * used
  int64_t experts = 0;              ///< there are
  const int32_t* chosen = nullptr;  ///< [count]: expert
  int32_t* slots = nullptr;         ///< [count]: the slot of a use
  int32_t* sources = nullptr;       ///< [slots]: the use of a slot
  Group* groups = nullptr;          ///< [experts]: those with slots, ascending
};

/// Sorts the uses by expert: a counting sort, so rows of a group keep their order. One thread: a
/// few thousand integers.
std::span<const Group> GroupUses(const Uses& uses);

/// Tiles of all groups: tiles do not cross groups.
int64_t ChunkCount(std::span<const Group> groups);

/// The slots of one of them.
RowRange ChunkOf(std::span<const Group> groups, int64_t chunk);

}  // namespace skald::model
