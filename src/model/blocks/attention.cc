#include "model/blocks/attention.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/exact_math.h"
#include "base/status_macros.h"
#include "model/checks.h"

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

StepRow FindRow(const StepBatch& batch, int64_t row) {
  for (const SequenceRows& sequence : batch.sequences) {
    if (row < sequence.row_count) return {&sequence, sequence.first_position + row};
    row -= sequence.row_count;
  }
  UNREACHABLE();
}

Visible VisibleTo(const Sight& sight, int64_t first_position, int64_t rows) {
  const auto first_seen = [&](int64_t position) {
    const int64_t in_window = sight.window > 0 ? position - sight.window + 1 : 0;
    const int64_t in_chunk = sight.chunk > 0 ? position / sight.chunk * sight.chunk : 0;
    return std::max<int64_t>({0, in_window, in_chunk});
  };
  Visible visible;
  const int64_t end = first_position + rows;
  for (int64_t position = first_position; position < end; ++position) {
    visible.by_rows += static_cast<double>(position + 1 - first_seen(position));
  }
  visible.by_sequence = static_cast<double>(end - first_seen(first_position));
  return visible;
}

}  // namespace skald::model
