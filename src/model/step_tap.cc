#include "model/step_tap.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "kernels/attention/attention_layout.h"
#include "kernels/attention/attention_weights.h"

namespace skald::model {
namespace {

HeadWeights WeightsOf(const kernels::AttentionArgs& args, int64_t row) {
  const int64_t position = args.first_position + row / args.group;
  const kernels::PositionRange seen = kernels::VisibleRange(position, args);
  std::vector<float> weights(static_cast<size_t>(seen.end));
  kernels::AttentionWeights(args, row, weights);
  weights.erase(weights.begin(), weights.begin() + seen.begin);
  return {.position = position,
          .first_key = seen.begin,
          .has_sink = args.sinks != nullptr,
          .weights = std::move(weights)};
}

}  // namespace

void StepTap::Begin(const StepBatch& batch) {
  CHECK(!batch.sequences.empty());
  first_position_ = batch.sequences.front().first_position;
  rows_ = batch.row_count();
  output_positions_.clear();
  for (int64_t i = 0; i < batch.output_count(); ++i) {
    output_positions_.push_back(first_position_ + batch.output_row(i));
  }
}

// Where all rows of a step are wanted both ways agree.
int64_t StepTap::PositionOf(int64_t row, int64_t rows) const {
  return rows == rows_ ? first_position_ + row : output_positions_[static_cast<size_t>(row)];
}

void StepTap::SeeAttention(const StepPart& part, int64_t first_head,
                           const kernels::AttentionArgs& args) {
  for (int64_t row = 0; row < args.tokens * args.group; ++row) {
    HeadWeights weights = WeightsOf(args, row);
    weights.part = part;
    weights.head = first_head + row % args.group;
    const std::lock_guard lock(mutex_);
    seen_.attention.push_back(std::move(weights));
  }
}

void StepTap::SeeDepth(DepthRow row) {
  const std::lock_guard lock(mutex_);
  seen_.depth.push_back(std::move(row));
}

void StepTap::SeeExperts(const StepPart& part, int64_t rows, std::span<const int32_t> chosen,
                         std::span<const float> weights) {
  const size_t used = chosen.size() / static_cast<size_t>(rows);
  const std::lock_guard lock(mutex_);
  for (int64_t row = 0; row < rows; ++row) {
    const auto experts = chosen.subspan(static_cast<size_t>(row) * used, used);
    const auto shares = weights.subspan(static_cast<size_t>(row) * used, used);
    seen_.experts.push_back({.part = part,
                             .position = PositionOf(row, rows),
                             .experts = {experts.begin(), experts.end()},
                             .weights = {shares.begin(), shares.end()}});
  }
}

void StepTap::SeeValues(PartValues values, const Rows& rows) {
  values.summary = Summarize(values.rows, [&](int64_t row) {
    return std::span<const float>(rows.row(row), static_cast<size_t>(values.width));
  });
  const std::lock_guard lock(mutex_);
  seen_.values.push_back(std::move(values));
}

void StepTap::AddHeads(std::vector<HeadWeights> heads) {
  const std::lock_guard lock(mutex_);
  std::ranges::move(heads, std::back_inserter(seen_.attention));
}

Tapped StepTap::Take() {
  const std::lock_guard lock(mutex_);
  Tapped taken = std::exchange(seen_, {});
  // Workers come in any order, and who reads wants the same file twice. The rest comes in order,
  // from the thread that runs the step.
  const auto key = [](const HeadWeights& w) {
    return std::tuple(w.part.layer, w.part.kind, w.position, w.head);
  };
  std::ranges::sort(taken.attention, {}, key);
  return taken;
}

bool AreValuesWanted(const Execution& execution) {
  const StepTap* tap = execution.tap();
  return tap != nullptr && tap->wishes().values;
}

void ShowValues(ValueRole role, const Rows& rows, int64_t row_count, int64_t width,
                const Execution& execution) {
  if (!AreValuesWanted(execution) || row_count == 0) return;
  execution.tap()->SeeValues(
      {.part = execution.profile->part(), .role = role, .rows = row_count, .width = width}, rows);
}

}  // namespace skald::model
