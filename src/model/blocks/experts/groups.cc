#include "model/blocks/experts/groups.h"

#include <algorithm>

#include "base/checked_math.h"

namespace skald::model {

std::span<const Group> GroupUses(const Uses& uses) {
  for (int64_t expert = 0; expert < uses.experts; ++expert) {
    uses.groups[expert] = {.expert = expert, .slots = {0, 0}, .first_chunk = 0};
  }
  for (int64_t use = 0; use < uses.count; ++use) ++uses.groups[uses.chosen[use]].slots.count;
  int64_t next = 0;
  for (int64_t expert = 0; expert < uses.experts; ++expert) {
    uses.groups[expert].slots.first = next;
    next += uses.groups[expert].slots.count;
  }
  for (int64_t use = 0; use < uses.count; ++use) {
    RowRange& slots = uses.groups[uses.chosen[use]].slots;
    uses.slots[use] = static_cast<int32_t>(slots.first);
    uses.sources[slots.first] = static_cast<int32_t>(use);
    ++slots.first;  // the next free slot; set right below
  }
  size_t count = 0;
  int64_t chunks = 0;
  for (int64_t expert = 0; expert < uses.experts; ++expert) {
    Group group = uses.groups[expert];
    if (group.slots.count == 0) continue;
    group.slots = {group.slots.first - group.slots.count, group.slots.count};
    group.first_chunk = chunks;
    chunks += DivCeil<int64_t>(group.slots.count, kernels::kTileTokens);
    uses.groups[count++] = group;
  }
  return {uses.groups, count};
}

int64_t ChunkCount(std::span<const Group> groups) {
  const Group& last = groups.back();
  return last.first_chunk + DivCeil<int64_t>(last.slots.count, kernels::kTileTokens);
}

RowRange ChunkOf(std::span<const Group> groups, int64_t chunk) {
  const auto after =
      std::upper_bound(groups.begin(), groups.end(), chunk,
                       [](int64_t value, const Group& group) { return value < group.first_chunk; });
  const Group& group = *(after - 1);
  const int64_t offset = (chunk - group.first_chunk) * kernels::kTileTokens;
  return {group.slots.first + offset,
          std::min<int64_t>(kernels::kTileTokens, group.slots.count - offset)};
}

}  // namespace skald::model
