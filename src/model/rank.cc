#include "model/rank.h"

#include <algorithm>
#include <string>

#include "base/checked_math.h"
#include "kernels/pack/panel.h"

namespace skald::model {

RowPart ShareOf(int64_t count, const Rank& rank) {
  const int64_t first = count * rank.index / rank.count;
  const int64_t end = count * (rank.index + 1) / rank.count;
  return {.first_row = first, .rows = end - first, .all_rows = count};
}

RowPart PanelsOf(int64_t rows, const Rank& rank) {
  const RowPart panels = ShareOf(DivCeil<int64_t>(rows, kernels::kPanelRows), rank);
  const int64_t first = panels.first_row * kernels::kPanelRows;
  const int64_t end = std::min(rows, first + panels.rows * kernels::kPanelRows);
  return {.first_row = first, .rows = end - first, .all_rows = rows};
}

Status NotSplit(std::string_view what) {
  return Status(ErrorCode::kUnsupported,
                "this version does not split " + std::string(what) + " among ranks");
}

}  // namespace skald::model
