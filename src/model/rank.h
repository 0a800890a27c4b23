/// Rank: one of those among whom a network is split (split.h), and what its shares are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/tensors.h"
#include "skald/status.h"

namespace skald::model {

struct Rank {
  int index = 0;
  int count = 1;
};

/// Of `count` things in a row, those of a rank: as many as others have, or one more or less.
RowPart ShareOf(int64_t count, const Rank& rank);

/// The same of the rows of a matrix, in whole panels but for the last: so that a product of some
/// rows, which ends in whole panels, stays inside the rows of the product. May be none. In 128 rows
/// at a time where that is as fair, so that what goes from them into the next matrix may be
/// exchanged in its format (blocks/gathered.h).
RowPart PanelsOf(int64_t rows, const Rank& rank);

/// Heads that share something in groups: queries a KV head, value heads a key head, heads of a
/// state space B and C.
struct HeadCounts {
  int64_t heads = 0;
  int64_t groups = 0;  ///< divides heads
};

/// Of them those of a rank: whole groups, or some heads of one group.
struct HeadShare {
  RowPart heads = {};   ///< of the heads
  RowPart groups = {};  ///< of which several ranks may have the same one
};

/// Whole groups, or where there are more ranks than groups, a share of the heads of one: each of
/// its ranks computes then what its heads share. Nothing for more ranks than heads.
std::optional<HeadShare> ShareHeads(const Rank& rank, const HeadCounts& counts);

/// kUnsupported: `rank.count` ranks are more than share `things`, numbers with their names.
Status TooManyRanks(const Rank& rank, std::string_view things);

/// kUnsupported: this version does not split `what`.
Status NotSplit(std::string_view what);

}  // namespace skald::model
