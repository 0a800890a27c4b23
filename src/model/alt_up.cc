#include "model/alt_up.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/status_macros.h"
#include "model/blocks/gathered.h"
#include "model/checks.h"
#include "model/means.h"

namespace skald::model {
namespace {

// The stream of all rows.
Rows StreamOf(const AltUp& alt_up, int64_t stream, const Workspace& space) {
  const int64_t offset = stream * RoundUp<int64_t>(alt_up.width, kernels::kPanelRows);
  return {space.streams.data + offset, space.streams.stride};
}
Rows StreamOf(const Streams& streams, int64_t stream, const Workspace& space) {
  return {space.streams.data + stream * streams.stride(), space.streams.stride};
}

Rows LayoutScores(const AltUp& alt_up, const StepLimits& limits, Carver& carver) {
  return carver.Matrix(limits.rows, alt_up.streams);
}

// The router's product with the rows that `input` brings, normed on the way.
Rows Score(const AltUp& alt_up, Input input, const Context& context) {
  Carver carver(context.workspace.block);
  const Rows scores = LayoutScores(alt_up, context.workspace.limits(), carver);
  input.norm = &alt_up.router_norm;
  input.normed = context.workspace.normed;
  const std::array router = {Product{&alt_up.router, scores}};
  Prepare(input, router, context);
  Multiply(router, input.row_count, Phase::kRoute, context);
  return scores;
}

// m of a row, in place of its scores.
std::span<const float> FinishScores(const AltUp& alt_up, float* scores, const Context& context) {
  const auto factor = static_cast<float>(1 / static_cast<double>(alt_up.width));
  for (int64_t i = 0; i < alt_up.streams; ++i) scores[i] = scores[i] * factor;
  context.execution.kernels.soft_cap(1, scores, alt_up.streams);  // at 1 it is tanh
  return {scores, static_cast<size_t>(alt_up.streams)};
}

float Coefficient(std::span<const float> row, std::span<const float> m) {
  float sum = 0;
  for (size_t i = 0; i < m.size(); ++i) sum = std::fma(row[i], m[i], sum);
  return sum;
}

// Makes `x` as long as the row `like`.
void Lengthen(const float* like, float* x, int64_t n) {
  constexpr float kLeast = 1e-5f;
  const float target = std::sqrt(MeanOfSquares(like, n));
  const float length = std::sqrt(std::max(MeanOfSquares(x, n), kLeast));
  const float factor = target / length;
  for (int64_t i = 0; i < n; ++i) x[i] = x[i] * factor;
}

}  // namespace

Status Validate(const AltUp& alt_up) { return Validate(alt_up.router_norm); }

Status Validate(const Streams& streams) {
  if (!streams.exist()) return Ok();
  return InRange("number of streams", streams.count, 2, kMaxStreams);
}

void Declare(AltUp& alt_up, TensorList& tensors) {
  const int64_t streams = alt_up.streams;
  Declare(alt_up.router_norm, "altup_router_norm", alt_up.width, tensors);
  tensors.Matrix("altup_router.weight", streams, alt_up.width, &alt_up.router);
  tensors.Table("altup_predict_coef.weight", streams * streams, streams, &alt_up.predict);
  tensors.Table("altup_correct_coef.weight", streams, streams, &alt_up.correct);
  tensors.Vector("altup_correct_scale.weight", alt_up.width, &alt_up.input_scale);
}

void Split(const Rank& rank, Streams& streams) {
  if (streams.exist()) streams.rows = PanelsOf(streams.width, rank);
}

void Declare(Streams& streams, TensorList& tensors) {
  if (!streams.exist()) return;
  const int64_t count = streams.count - 1;
  const RowPart own = streams.Part();
  tensors.SlicesPart("altup_proj.weight", count, own, streams.width, &streams.open);
  tensors.SlicesPart("altup_unembd_proj.weight", count, own, streams.width, &streams.close);
}

Needs Size(const AltUp& alt_up, const StepLimits& limits) {
  Carver carver(nullptr);
  LayoutScores(alt_up, limits, carver);
  const int64_t row = alt_up.streams * RoundUp<int64_t>(alt_up.width, kernels::kPanelRows);
  Needs needs = {.buffer_bytes = carver.used(), .scratch_bytes = row * int64_t{sizeof(float)}};
  needs.AddInput(limits.rows, alt_up.width);
  return needs;
}

Needs Size(const Streams& streams, const StepLimits& limits) {
  if (!streams.exist()) return {};
  Needs needs;
  needs.AddInput(limits.rows, streams.width);
  return needs;
}

void Open(const Streams& streams, int64_t rows, const Context& context) {
  const Workspace& space = context.workspace;
  ThreadPool& pool = context.execution.pool;
  pool.Run(rows, [&](int64_t row, int) {
    std::copy_n(space.residual.row(row), streams.width, StreamOf(streams, 0, space).row(row));
  });
  for (int64_t j = 1; j < streams.count; ++j) {
    const Rows stream = StreamOf(streams, j, space);
    MultiplyPart({space.residual, rows}, {&streams.open[static_cast<size_t>(j) - 1], stream},
                 streams.Part(), Phase::kEmbed, context);
    pool.Run(rows, [&](int64_t row, int) {
      Lengthen(space.residual.row(row), stream.row(row), streams.width);
    });
  }
}

void Close(const Streams& streams, int64_t rows, const Context& context) {
  const Workspace& space = context.workspace;
  const Rows first = StreamOf(streams, 0, space);
  ThreadPool& pool = context.execution.pool;
  pool.Run(rows, [&](int64_t row, int) {
    std::copy_n(first.row(row), streams.width, space.residual.row(row));
  });
  for (int64_t j = 1; j < streams.count; ++j) {
    MultiplyPart({StreamOf(streams, j, space), rows},
                 {&streams.close[static_cast<size_t>(j) - 1], space.projected}, streams.Part(),
                 Phase::kHead, context);
    pool.Run(rows, [&](int64_t row, int) {
      Lengthen(first.row(row), space.projected.row(row), streams.width);
      context.execution.kernels.add(space.projected.row(row), space.residual.row(row),
                                    streams.width);
    });
  }
  const auto factor = static_cast<float>(1 / static_cast<double>(streams.count));
  pool.Run(rows, [&](int64_t row, int) {
    float* x = space.residual.row(row);
    for (int64_t i = 0; i < streams.width; ++i) x[i] = x[i] * factor;
  });
}

void Predict(const AltUp& alt_up, int64_t rows, const Context& context) {
  const Workspace& space = context.workspace;
  const kernels::KernelTable& kernels = context.execution.kernels;
  const Rows scores =
      Score(alt_up, {.rows = StreamOf(alt_up, 0, space), .row_count = rows}, context);
  const int64_t stride = RoundUp<int64_t>(alt_up.width, kernels::kPanelRows);
  const auto count = static_cast<size_t>(alt_up.streams);
  context.execution.pool.Run(rows, [&](int64_t row, int worker) {
    const auto m = FinishScores(alt_up, scores.row(row), context);
    float* streams = space.streams.row(row);
    auto* predicted = reinterpret_cast<float*>(space.matmul_scratch(worker));
    std::copy_n(streams, alt_up.streams * stride, predicted);
    for (size_t i = 0; i < count * count; ++i) {
      const float factor = Coefficient(std::span(alt_up.predict).subspan(i * count, count), m);
      const auto j = static_cast<int64_t>(i / count);
      const auto t = static_cast<int64_t>(i % count);
      kernels.add_scaled(factor, streams + t * stride, predicted + j * stride, alt_up.width);
    }
    std::copy_n(predicted, alt_up.streams * stride, streams);
    std::copy_n(predicted, alt_up.width, space.residual.row(row));
  });
}

void Correct(const AltUp& alt_up, const Input& input, const Context& context) {
  const Workspace& space = context.workspace;
  const Rows scores = Score(alt_up, input, context);
  const int64_t stride = RoundUp<int64_t>(alt_up.width, kernels::kPanelRows);
  const auto count = static_cast<size_t>(alt_up.streams);
  context.execution.pool.Run(input.row_count, [&](int64_t row, int) {
    const auto m = FinishScores(alt_up, scores.row(row), context);
    float* streams = space.streams.row(row);
    float* x = space.residual.row(row);
    for (int64_t i = 0; i < alt_up.width; ++i) x[i] = x[i] - streams[i];
    for (size_t j = 0; j < count; ++j) {
      const auto own = std::span(alt_up.correct).subspan(j * count, count);
      const float factor = Coefficient(own, m) + 1.0f;
      context.execution.kernels.add_scaled(factor, x, streams + static_cast<int64_t>(j) * stride,
                                           alt_up.width);
    }
    for (int64_t i = 0; i < alt_up.width; ++i) {
      x[i] = streams[i] * alt_up.input_scale[static_cast<size_t>(i)];
    }
  });
}

void AddToStreams(const AltUp& alt_up, const Norm& norm, int64_t rows, const Context& context) {
  const Workspace& space = context.workspace;
  const kernels::KernelTable& kernels = context.execution.kernels;
  const int64_t width = alt_up.width;
  context.execution.pool.Run(rows, [&](int64_t row, int) {
    float* e = space.projected.row(row);
    if (norm.exists()) {
      Normalize(norm, {.x = e, .x_stride = width, .y = e, .y_stride = width, .rows = 1, .n = width},
                kernels);
    }
    for (int64_t j = 1; j < alt_up.streams; ++j) {
      kernels.add(e, StreamOf(alt_up, j, space).row(row), width);
    }
  });
}

void AddWork(const AltUp& alt_up, int64_t rows, StepWork& work) {
  constexpr int64_t kTimes = 2;  // predicted, corrected
  for (int64_t i = 0; i < kTimes; ++i) {
    AddWork(std::array{&alt_up.router}, rows, Phase::kRoute, work);
  }
  // Each time every stream is read and written.
  work[Phase::kPrepare].bytes += static_cast<double>(rows * kTimes * 2 * alt_up.streams *
                                                     alt_up.width * int64_t{sizeof(float)});
}

void AddWork(const Streams& streams, const StepShape& shape, StepWork& work) {
  for (const kernels::PackedMatrix& matrix : streams.open) {
    AddWork(std::array{&matrix}, shape.rows, Phase::kEmbed, work);
    AddGather(streams.Part(), shape.rows, work);
  }
  if (shape.output_rows() == 0) return;
  for (const kernels::PackedMatrix& matrix : streams.close) {
    AddWork(std::array{&matrix}, shape.output_rows(), Phase::kHead, work);
    AddGather(streams.Part(), shape.output_rows(), work);
  }
}

}  // namespace skald::model
