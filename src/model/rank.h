/// Rank: one of those among whom a network is split (split.h), and what its shares are.
#pragma once

#include <cstdint>
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
/// rows, which ends in whole panels, stays inside the rows of the product. May be none.
RowPart PanelsOf(int64_t rows, const Rank& rank);

/// kUnsupported: this version does not split `what`.
Status NotSplit(std::string_view what);

}  // namespace skald::model
