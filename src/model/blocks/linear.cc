#include "model/blocks/linear.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/checked_math.h"

namespace skald::model {
namespace {

using kernels::ActivationFormat;
using kernels::kTileTokens;
using kernels::PackedMatrix;

// Weights of one unit of work: a share of L2 that stays there while all tiles of tokens pass over
// it. With one tile they are read once, and a unit must be long against what its beginning costs:
// handing it out, and some 100 ns in which no line is on its way (64 KiB take 2 us at 30 GB/s).
constexpr int64_t kUnitBytes = 256 << 10;
// At least this many units per thread, so that an uneven end costs little.
constexpr int64_t kUnitsPerThread = 4;

// Calls visit(first_row, tokens) for each tile of rows first .. end.
template <typename Visit>
void ForEachTile(int64_t first, int64_t end, Visit visit) {
  while (first < end) {
    const int tokens = kernels::NextTileTokens(end - first);
    visit(first, tokens);
    first += tokens;
  }
}

void NormRange(const Norm* norm, const Rows& from, const Rows& to, const RowRange& rows,
               int64_t cols, const Execution& execution) {
  if (norm == nullptr || !norm->exists()) return;
  Normalize(*norm,
            {.x = from.row(rows.first),
             .x_stride = from.stride,
             .y = to.row(rows.first),
             .y_stride = to.stride,
             .rows = rows.count,
             .n = cols},
            execution.kernels);
}

// The factor of a matrix (numerics 3.6), on what some of its panels have given.
void MultiplyByFactor(const Product& product, const PanelRange& panels, const RowRange& rows) {
  const int64_t count = panels.count * kernels::kPanelRows;
  const float factor = product.weights->factor;
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    float* out = product.out.row(row) + panels.first * kernels::kPanelRows;
    for (int64_t i = 0; i < count; ++i) out[i] *= factor;
  }
}

// Adds the biases of some panels' rows to what was multiplied.
void AddBias(const Product& product, const PanelRange& panels, const RowRange& rows,
             const Execution& execution) {
  const int64_t first = panels.first * kernels::kPanelRows;
  const int64_t count = std::min(panels.count * kernels::kPanelRows, product.weights->rows - first);
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    execution.kernels.add(product.bias.data() + first, product.out.row(row) + first, count);
  }
}

// Rows of `cols` elements on their way into tiles of one format, or some columns of them.
struct TileTarget {
  ActivationFormat format;
  int64_t cols;
  std::byte* tiles;
  ColumnRange columns = {0, cols};
};

void QuantizeTo(const TileTarget& target, const Rows& source, const RowRange& rows,
                const Execution& execution) {
  const int64_t bytes = kernels::ActivationBytes(target.format, target.cols);
  // Units of columns stand one behind the other, each of all tokens of a tile: so do those before.
  const int64_t bytes_before = kernels::ActivationBytes(target.format, target.columns.first);
  ForEachTile(0, rows.count, [&](int64_t first, int tokens) {
    execution.kernels.quantize[static_cast<size_t>(target.format)](
        {.x = source.row(rows.first + first) + target.columns.first,
         .x_stride = source.stride,
         .tokens = tokens,
         .cols = target.columns.count,
         .tile = target.tiles + (rows.prepared + first) * bytes + tokens * bytes_before});
  });
}

}  // namespace

void AddAndNorm(const Input& input, const RowRange& rows, int64_t cols,
                const Execution& execution) {
  const Addend& addend = input.addend;
  if (addend.rows.data != nullptr) {
    NormRange(addend.norm, addend.rows, addend.rows, rows, cols, execution);
    for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
      if (addend.scale == 1) {
        execution.kernels.add(addend.rows.row(row), input.rows.row(row), cols);
      } else {
        execution.kernels.add_scaled(addend.scale, addend.rows.row(row), input.rows.row(row), cols);
      }
      if (addend.sum_scale == 1) continue;
      float* sum = input.rows.row(row);
      for (int64_t i = 0; i < cols; ++i) sum[i] = sum[i] * addend.sum_scale;
    }
    NormRange(addend.sum_norm, input.rows, input.rows, rows, cols, execution);
  }
  NormRange(input.norm, input.rows, input.normed, rows, cols, execution);
}

Formats FormatsOf(std::span<const Product> products) {
  Formats needed = {};
  for (const Product& product : products) {
    const auto format = kernels::InfoOf(product.weights->type).activation;
    needed[static_cast<size_t>(format)] = true;
  }
  return needed;
}

void Quantize(const Rows& source, const RowRange& rows, int64_t cols, const Formats& formats,
              const Context& context) {
  for (size_t format = 0; format < formats.size(); ++format) {
    if (!formats[format]) continue;
    QuantizeTo({static_cast<ActivationFormat>(format), cols, context.workspace.tiles[format]},
               source, rows, context.execution);
  }
}

void QuantizeColumns(const PackedMatrix& matrix, const Rows& source, const RowRange& rows,
                     const ColumnRange& columns, const Context& context) {
  const auto format = kernels::InfoOf(matrix.type).activation;
  QuantizeTo({.format = format,
              .cols = matrix.cols,
              .tiles = context.workspace.tiles[static_cast<size_t>(format)],
              .columns = columns},
             source, rows, context.execution);
}

// A unit is up to 16 rows, so a tile never crosses units. Sum, norm and formats in one pass: the
// rows of a unit are still in L1 when they are quantized.
void Prepare(const Input& input, std::span<const Product> products, const Context& context) {
  const Execution& execution = context.execution;
  const ScopedPhase phase(execution.profile, Phase::kPrepare);
  const int64_t cols = products.front().weights->cols;
  const Formats formats = FormatsOf(products);
  execution.pool.Run(DivCeil<int64_t>(input.row_count, kTileTokens), [&](int64_t unit, int) {
    const int64_t first = unit * kTileTokens;
    const int64_t count = std::min<int64_t>(kTileTokens, input.row_count - first);
    AddAndNorm(input, {first, count}, cols, execution);
    Quantize(input.source(), {first, count}, cols, formats, context);
  });
}

int64_t PanelsPerUnit(const PackedMatrix& matrix, int64_t rows, const kernels::KernelTable& kernels,
                      int threads) {
  const int64_t least = kernels.least_panels(matrix.type, rows);
  const int64_t by_cache = std::max(least, kUnitBytes / matrix.panel_bytes());
  const int64_t by_share = std::max<int64_t>(1, matrix.panel_count() / (kUnitsPerThread * threads));
  return std::min(by_cache, by_share);
}

void MultiplyPanels(const Product& product, const PanelRange& panels, const RowRange& rows,
                    const Context& context) {
  const PackedMatrix& matrix = *product.weights;
  const auto format = kernels::InfoOf(matrix.type).activation;
  const kernels::MatmulFn multiply =
      context.execution.kernels.matmul[static_cast<size_t>(matrix.type)];
  multiply({.panels = matrix.panels + panels.first * matrix.panel_bytes(),
            .panel_count = panels.count,
            .cols = matrix.cols,
            .tiles = context.workspace.tiles[static_cast<size_t>(format)] +
                     rows.prepared * kernels::ActivationBytes(format, matrix.cols),
            .tokens = rows.count,
            .out = product.out.row(rows.first) + panels.first * kernels::kPanelRows,
            .out_stride = product.out.stride,
            .scratch = context.workspace.matmul_scratch(panels.worker)});
  if (matrix.factor != 1) MultiplyByFactor(product, panels, rows);
  if (!product.bias.empty()) AddBias(product, panels, rows, context.execution);
}

void MultiplyRows(const MadeRows& rows, const Product& product, Phase phase,
                  const Context& context) {
  const std::span<const Product> one(&product, 1);
  Prepare({.rows = rows.rows, .row_count = rows.count}, one, context);
  Multiply(one, rows.count, phase, context);
}

void Multiply(std::span<const Product> products, int64_t row_count, Phase phase,
              const Context& context) {
  constexpr size_t kMaxProducts = 6;
  CHECK(!products.empty() && products.size() <= kMaxProducts);
  const ScopedPhase scope(context.execution.profile, phase);
  ThreadPool& pool = context.execution.pool;
  // The units of all products in one loop: no barrier between matrices that share an input.
  std::array<int64_t, kMaxProducts> panels_per_unit = {};
  std::array<int64_t, kMaxProducts + 1> first_unit = {};
  for (size_t i = 0; i < products.size(); ++i) {
    const PackedMatrix& matrix = *products[i].weights;
    panels_per_unit[i] =
        PanelsPerUnit(matrix, row_count, context.execution.kernels, pool.thread_count());
    first_unit[i + 1] = first_unit[i] + DivCeil(matrix.panel_count(), panels_per_unit[i]);
  }
  pool.Run(first_unit[products.size()], [&](int64_t unit, int worker) {
    size_t i = 0;
    while (unit >= first_unit[i + 1]) ++i;
    const int64_t first_panel = (unit - first_unit[i]) * panels_per_unit[i];
    const int64_t left = products[i].weights->panel_count() - first_panel;
    MultiplyPanels(products[i], {first_panel, std::min(panels_per_unit[i], left), worker},
                   {0, row_count}, context);
  });
}

int64_t OwnTileBytes(int64_t rows, int64_t cols) {
  int64_t bytes = 0;
  for (int format = 0; format < kernels::kActivationFormatCount; ++format) {
    // As Needs::AddInput: whole units of any format.
    bytes = std::max(bytes, rows * kernels::ActivationBytes(static_cast<ActivationFormat>(format),
                                                            RoundUp<int64_t>(cols, 256)));
  }
  return RoundUp<int64_t>(bytes, 64);
}

void MultiplyAlone(const Product& product, const Rows& source, int64_t row_count,
                   const OwnTiles& own, const Context& context) {
  const PackedMatrix& matrix = *product.weights;
  const auto format = kernels::InfoOf(matrix.type).activation;
  QuantizeTo({format, matrix.cols, own.tiles}, source, {0, row_count}, context.execution);
  context.execution.kernels.matmul[static_cast<size_t>(matrix.type)](
      {.panels = matrix.panels,
       .panel_count = matrix.panel_count(),
       .cols = matrix.cols,
       .tiles = own.tiles,
       .tokens = row_count,
       .out = product.out.data,
       .out_stride = product.out.stride,
       .scratch = context.workspace.matmul_scratch(own.worker)});
  if (matrix.factor == 1) return;
  MultiplyByFactor(product, {0, matrix.panel_count(), own.worker}, {0, row_count});
}

void AddWork(std::span<const PackedMatrix* const> matrices, int64_t rows, Phase phase,
             StepWork& work) {
  for (const PackedMatrix* matrix : matrices) AddProductWork(*matrix, rows, phase, work);
  work[Phase::kPrepare].Add(PrepareWork(matrices, rows));
}

void AddProductWork(const PackedMatrix& matrix, int64_t rows, Phase phase, StepWork& work) {
  AddProductWork(matrix, rows, phase, MultiplyWork(matrix, rows), work);
}

void AddProductWork(const PackedMatrix& matrix, int64_t rows, Phase phase, const Work& counted,
                    StepWork& work) {
  work.Add({.phase = phase,
            .matrix = &matrix,
            .input = {rows, matrix.cols},
            .other = {matrix.rows, matrix.cols},
            .output = {rows, matrix.rows},
            .work = counted});
}

Work MultiplyWork(const PackedMatrix& matrix, int64_t rows) {
  const double macs = static_cast<double>(rows) * static_cast<double>(matrix.rows) *
                      static_cast<double>(matrix.cols);
  const double bytes = static_cast<double>(matrix.panel_count() * matrix.panel_bytes());
  switch (kernels::InfoOf(matrix.type).activation) {
    case ActivationFormat::kF32: return {.float_macs = macs, .bytes = bytes};
    case ActivationFormat::kBFloat16: return {.bfloat16_macs = macs, .bytes = bytes};
    case ActivationFormat::kBlock32:
    case ActivationFormat::kBlock128: return {.int8_macs = macs, .bytes = bytes};
  }
  UNREACHABLE();
}

Work PrepareWork(std::span<const PackedMatrix* const> matrices, int64_t rows) {
  Formats needed = {};
  const int64_t cols = matrices.front()->cols;
  for (const PackedMatrix* matrix : matrices) {
    needed[static_cast<size_t>(kernels::InfoOf(matrix->type).activation)] = true;
  }
  // The rows are read as floats and written in the format of each kind of matrix.
  auto row_bytes = static_cast<double>(cols * int64_t{sizeof(float)});
  for (size_t format = 0; format < needed.size(); ++format) {
    if (!needed[format]) continue;
    row_bytes +=
        static_cast<double>(kernels::ActivationBytes(static_cast<ActivationFormat>(format), cols));
  }
  return {.bytes = static_cast<double>(rows) * row_bytes};
}

}  // namespace skald::model
