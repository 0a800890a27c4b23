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

// Weights of one unit of work. Many tokens: a share of L2 that stays there while all tiles of
// tokens pass over it. One tile: it is read once, so a unit need only be long against handing it
// out (some 100 ns; 64 KiB take 6 us at 10 GB/s), and short ones let all threads finish together.
constexpr int64_t kUnitBytes = 256 << 10;
constexpr int64_t kUnitBytesOneTile = 64 << 10;
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

std::array<bool, 3> FormatsOf(std::span<const Product> products) {
  std::array<bool, 3> needed = {};
  for (const Product& product : products) {
    const auto format = kernels::InfoOf(product.weights->type).activation;
    needed[static_cast<size_t>(format)] = true;
  }
  return needed;
}

void AddAndNorm(const LinearInput& input, int64_t first, int64_t count, int64_t cols,
                const Execution& execution) {
  for (int64_t row = first; input.addend.data != nullptr && row < first + count; ++row) {
    execution.kernels.add(input.addend.row(row), input.rows.row(row), cols);
  }
  if (input.norm == nullptr) return;
  execution.kernels.rms_norm({.x = input.rows.row(first),
                              .x_stride = input.rows.stride,
                              .weight = input.norm,
                              .y = input.normed.row(first),
                              .y_stride = input.normed.stride,
                              .rows = count,
                              .n = cols,
                              .eps = input.epsilon});
}

// Adds, norms and prepares the rows in every format needed. A unit is up to 16 rows, so a tile
// never crosses units.
void Prepare(const LinearInput& input, std::span<const Product> products,
             const Workspace& workspace, const Execution& execution) {
  const ScopedPhase phase(execution.profile, Phase::kPrepare);
  const int64_t cols = products.front().weights->cols;
  const std::array<bool, 3> needed = FormatsOf(products);
  const Workspace::Rows source = input.norm == nullptr ? input.rows : input.normed;
  execution.pool.Run(DivCeil<int64_t>(input.row_count, kTileTokens), [&](int64_t unit, int) {
    const int64_t begin = unit * kTileTokens;
    const int64_t end = std::min<int64_t>(begin + kTileTokens, input.row_count);
    AddAndNorm(input, begin, end - begin, cols, execution);
    for (size_t format = 0; format < needed.size(); ++format) {
      if (!needed[format]) continue;
      const int64_t bytes = kernels::ActivationBytes(static_cast<ActivationFormat>(format), cols);
      ForEachTile(begin, end, [&](int64_t first, int tokens) {
        execution.kernels.quantize[format]({.x = source.row(first),
                                            .x_stride = source.stride,
                                            .tokens = tokens,
                                            .cols = cols,
                                            .tile = workspace.tiles[format] + first * bytes});
      });
    }
  });
}

// Panels of one unit of `matrix`: small enough for L2, and small enough that every thread gets
// several.
int64_t PanelsPerUnit(const PackedMatrix& matrix, int64_t rows, int threads) {
  const int64_t bytes = rows <= kTileTokens ? kUnitBytesOneTile : kUnitBytes;
  const int64_t by_cache = std::max<int64_t>(1, bytes / matrix.panel_bytes());
  const int64_t by_share = std::max<int64_t>(1, matrix.panel_count() / (kUnitsPerThread * threads));
  return std::min(by_cache, by_share);
}

// Some panels of a matrix, and the worker that multiplies them.
struct PanelRange {
  int64_t first;
  int64_t count;
  int worker;
};

void MultiplyPanels(const Product& product, const PanelRange& panels, const LinearInput& input,
                    const Workspace& workspace, const Execution& execution) {
  const PackedMatrix& matrix = *product.weights;
  const auto format = kernels::InfoOf(matrix.type).activation;
  const kernels::MatmulFn multiply = execution.kernels.matmul[static_cast<size_t>(matrix.type)];
  multiply({.panels = matrix.panels + panels.first * matrix.panel_bytes(),
            .panel_count = panels.count,
            .cols = matrix.cols,
            .tiles = workspace.tiles[static_cast<size_t>(format)],
            .tokens = input.row_count,
            .out = product.out.row(0) + panels.first * kernels::kPanelRows,
            .out_stride = product.out.stride,
            .scratch = workspace.matmul_scratch(panels.worker)});
}

}  // namespace

void Linear(const LinearInput& input, std::span<const Product> products, const Workspace& workspace,
            const Execution& execution) {
  constexpr size_t kMaxProducts = 3;
  CHECK(!products.empty() && products.size() <= kMaxProducts);
  Prepare(input, products, workspace, execution);
  const ScopedPhase phase(execution.profile, input.phase);
  // The units of all products in one loop: no barrier between matrices that share an input.
  std::array<int64_t, kMaxProducts> panels_per_unit = {};
  std::array<int64_t, kMaxProducts + 1> first_unit = {};
  for (size_t i = 0; i < products.size(); ++i) {
    const PackedMatrix& matrix = *products[i].weights;
    panels_per_unit[i] = PanelsPerUnit(matrix, input.row_count, execution.pool.thread_count());
    first_unit[i + 1] = first_unit[i] + DivCeil(matrix.panel_count(), panels_per_unit[i]);
  }
  execution.pool.Run(first_unit[products.size()], [&](int64_t unit, int worker) {
    size_t i = 0;
    while (unit >= first_unit[i + 1]) ++i;
    const int64_t first_panel = (unit - first_unit[i]) * panels_per_unit[i];
    const int64_t left = products[i].weights->panel_count() - first_panel;
    MultiplyPanels(products[i], {first_panel, std::min(panels_per_unit[i], left), worker}, input,
                   workspace, execution);
  });
}

void GatedLinear(const LinearInput& input, const Product& gate, const Product& up,
                 const Workspace& workspace, const Execution& execution) {
  const PackedMatrix& matrix = *gate.weights;
  CHECK(matrix.rows == up.weights->rows);
  Prepare(input, std::array{gate, up}, workspace, execution);
  const ScopedPhase phase(execution.profile, input.phase);
  // One matrix after the other is a share of L2, as in Linear: with a share for both together,
  // twice as many units pass over all tiles, and prefill loses 3 to 10 %.
  const int64_t panels_per_unit =
      PanelsPerUnit(matrix, input.row_count, execution.pool.thread_count());
  const int64_t units = DivCeil(matrix.panel_count(), panels_per_unit);
  execution.pool.Run(units, [&](int64_t unit, int worker) {
    const int64_t first = unit * panels_per_unit;
    const PanelRange panels = {first, std::min(panels_per_unit, matrix.panel_count() - first),
                               worker};
    MultiplyPanels(gate, panels, input, workspace, execution);
    MultiplyPanels(up, panels, input, workspace, execution);
    const int64_t column = first * kernels::kPanelRows;
    const int64_t columns = std::min(panels.count * kernels::kPanelRows, matrix.rows - column);
    for (int64_t row = 0; row < input.row_count; ++row) {
      float* out = gate.out.row(row) + column;
      execution.kernels.swiglu(out, up.out.row(row) + column, out, columns);
    }
  });
}

}  // namespace skald::model
