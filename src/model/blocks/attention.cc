#include "model/blocks/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/exact_math.h"
#include "base/status_macros.h"
#include "model/checks.h"
#include "model/step_tap.h"

namespace skald::model {

Status Validate(const QueryTemperature& temperature) {
  RETURN_IF_ERROR(NotNegative("attention temperature scale", temperature.scale));
  if (temperature.scale == 0) return Ok();
  return InRange("attention temperature length", temperature.length, 1, kMaxContext);
}

void WarmQueries(const QueryTemperature& temperature, int64_t position, float* query,
                 int64_t count) {
  if (temperature.scale == 0) return;
  const auto periods = static_cast<double>((position + temperature.shift) / temperature.length);
  const auto factor = static_cast<float>(1 + temperature.scale * ExactLog(1 + periods));
  for (int64_t i = 0; i < count; ++i) query[i] = query[i] * factor;
}

// sqrt is correctly rounded everywhere.
float DefaultAttentionScale(int64_t key_dim) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(key_dim)));
}

std::vector<float> AlibiSlopes(int64_t heads, double steepest) {
  const auto whole = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<float> slopes;
  for (int64_t head = 0; head < heads; ++head) {
    const bool is_beyond = head >= whole;
    const double step = steepest / static_cast<double>(is_beyond ? 2 * whole : whole);
    const int64_t steps = is_beyond ? 2 * (head - whole) + 1 : head + 1;
    slopes.push_back(static_cast<float>(ExactPow(2, -step * static_cast<double>(steps))));
  }
  return slopes;
}

StepRow FindRow(const StepBatch& batch, int64_t row) {
  for (const SequenceRows& sequence : batch.sequences) {
    if (row < sequence.row_count) return {&sequence, sequence.first_position + row};
    row -= sequence.row_count;
  }
  UNREACHABLE();
}

namespace {

void AttendAlike(int64_t first_head, const kernels::AttentionArgs& args,
                 const Execution& execution) {
  if (args.tokens == 0) return;
  execution.kernels.attention(args);
  StepTap* tap = execution.tap();
  if (tap == nullptr || !tap->wishes().attention) return;
  tap->SeeAttention(execution.profile->part(), first_head, args);
}

}  // namespace

void AttendPages(int64_t first_head, const kernels::AttentionArgs& args,
                 const Execution& execution) {
  if (args.pinned == 0) return AttendAlike(first_head, args, execution);
  kernels::AttentionArgs first = args;
  first.tokens =
      std::clamp<int64_t>(args.pinned + args.window - args.first_position, 0, args.tokens);
  first.window = 0;
  first.pinned = 0;
  AttendAlike(first_head, first, execution);
  kernels::AttentionArgs rest = args;
  rest.tokens -= first.tokens;
  rest.first_position += first.tokens;
  rest.query += first.tokens * args.query_stride;
  rest.pinned_query += first.tokens * args.query_stride;
  rest.out += first.tokens * args.out_stride;
  AttendAlike(first_head, rest, execution);
}

Visible VisibleTo(const Sight& sight, int64_t first_position, int64_t rows) {
  const auto first_seen = [&](int64_t position) {
    const int64_t in_window = sight.window > 0 ? position - sight.window + 1 : 0;
    const int64_t in_chunk = sight.chunk > 0 ? position / sight.chunk * sight.chunk : 0;
    return std::max<int64_t>({0, in_window, in_chunk});
  };
  Visible visible;
  const int64_t end = first_position + rows;
  const auto end_seen = [&](int64_t position) {
    if (sight.mask == Mask::kCausal) return position + 1;
    return sight.window > 0 ? std::min(end, position + sight.window) : end;
  };
  const auto pinned_seen = [&](int64_t position) {
    return std::min(sight.pinned, first_seen(position));
  };
  for (int64_t position = first_position; position < end; ++position) {
    visible.by_rows +=
        static_cast<double>(end_seen(position) - first_seen(position) + pinned_seen(position));
  }
  visible.by_sequence =
      static_cast<double>(end - first_seen(first_position) + pinned_seen(first_position));
  return visible;
}

}  // namespace skald::model
