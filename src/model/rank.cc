#include "model/rank.h"

#include <algorithm>
#include <string>

#include "base/checked_math.h"
#include "kernels/pack/panel.h"
#include "kernels/quantize/quantize.h"

namespace skald::model {
namespace {

// With so many units a rank, one more than others have is no more than an eighth.
constexpr int64_t kFairUnits = 8;

// Rows in which a matrix is split.
int64_t RowsAtATime(int64_t rows, int ranks) {
  const int64_t longest = kernels::UnitColumns(kernels::ActivationFormat::kBlock128);
  if (rows % longest != 0) return kernels::kPanelRows;
  const int64_t units = rows / longest;
  const bool is_fair = units % ranks == 0 || units >= kFairUnits * ranks;
  return is_fair ? longest : kernels::kPanelRows;
}

}  // namespace

RowPart ShareOf(int64_t count, const Rank& rank) {
  const int64_t first = count * rank.index / rank.count;
  const int64_t end = count * (rank.index + 1) / rank.count;
  return {.first_row = first, .rows = end - first, .all_rows = count};
}

RowPart PanelsOf(int64_t rows, const Rank& rank) {
  const int64_t unit = RowsAtATime(rows, rank.count);
  const RowPart units = ShareOf(DivCeil<int64_t>(rows, unit), rank);
  const int64_t first = units.first_row * unit;
  const int64_t end = std::min(rows, first + units.rows * unit);
  return {.first_row = first,
          .rows = end - first,
          .all_rows = rows,
          .multiple = rows % unit == 0 ? unit : 1};
}

std::optional<HeadShare> ShareHeads(const Rank& rank, const HeadCounts& counts) {
  const auto [heads, groups] = counts;
  const int64_t of_group = heads / groups;
  if (rank.count <= groups) {
    const RowPart own = ShareOf(groups, rank);
    return HeadShare{.heads = Times(own, of_group), .groups = own};
  }
  const int64_t group = rank.index * groups / rank.count;
  const int64_t first = DivCeil<int64_t>(group * rank.count, groups);
  const int64_t end = DivCeil<int64_t>((group + 1) * rank.count, groups);
  if (end - first > of_group) return std::nullopt;
  RowPart own = ShareOf(of_group, {.index = static_cast<int>(rank.index - first),
                                   .count = static_cast<int>(end - first)});
  own.first_row += group * of_group;
  own.all_rows = heads;
  return HeadShare{.heads = own, .groups = {group, 1, groups}};
}

Status TooManyRanks(const Rank& rank, std::string_view things) {
  return Status(ErrorCode::kUnsupported, std::to_string(rank.count) + " ranks share " +
                                             std::string(things) + ": expected fewer ranks");
}

Status NotSplit(std::string_view what) {
  return Status(ErrorCode::kUnsupported,
                "this version does not split " + std::string(what) + " among ranks");
}

}  // namespace skald::model
