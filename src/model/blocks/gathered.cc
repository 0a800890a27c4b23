#include "model/blocks/gathered.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/checked_math.h"
#include "kernels/quantize/quantize.h"
#include "ranks/exchange.h"

namespace skald::model {
namespace {

using kernels::ActivationFormat;
using kernels::PackedMatrix;

ActivationFormat FormatOf(const PackedMatrix& matrix) {
  return kernels::InfoOf(matrix.type).activation;
}

// A unit that two ranks share could be written by neither: its scale is of all of its columns. All
// ranks answer alike, as they must to meet: `multiple` and the type are the same in each.
bool IsGatheredAsTiles(const ColumnRuns& own, const PackedMatrix& matrix) {
  return own.multiple % kernels::UnitColumns(FormatOf(matrix)) == 0;
}

void PrepareOwn(const PartedRows& parted, const PackedMatrix& matrix, const Context& context) {
  const ScopedPhase phase(context.execution.profile, Phase::kPrepare);
  const ColumnRuns& own = parted.own;
  context.execution.pool.Run(
      DivCeil<int64_t>(parted.count, kernels::kTileTokens), [&](int64_t unit, int) {
        const int64_t first = unit * kernels::kTileTokens;
        const int64_t count = std::min<int64_t>(kernels::kTileTokens, parted.count - first);
        for (int64_t run = 0; run < own.runs && own.count > 0; ++run) {
          QuantizeColumns(matrix, parted.rows, {first, count},
                          {own.first + run * own.run_stride, own.count}, context);
        }
      });
}

// Tiles of `tokens` tokens each from token `first` on, as an exchange sees them: a tile is a row,
// whose units lie one behind the other. What are its floats there is only copied.
ranks::Columns ColumnsOfTiles(const PartedRows& parted, const PackedMatrix& matrix, int64_t first,
                              int64_t tiles, int64_t tokens, const Context& context) {
  const ActivationFormat format = FormatOf(matrix);
  const auto floats = [&](int64_t cols) {
    return tokens * kernels::ActivationBytes(format, cols) / int64_t{sizeof(float)};
  };
  std::byte* begin = context.workspace.tiles[static_cast<size_t>(format)] +
                     first * kernels::ActivationBytes(format, matrix.cols);
  const ColumnRuns& own = parted.own;
  return {.rows = reinterpret_cast<float*>(begin),
          .stride = floats(matrix.cols),
          .row_count = tiles,
          .first = floats(own.first),
          .count = floats(own.count),
          .runs = own.runs,
          .run_stride = floats(own.run_stride)};
}

// Calls visit(first_row, tiles, tokens) for tiles of as many tokens each: all that are full, then
// one or two.
template <typename Visit>
void ForEachRunOfTiles(int64_t rows, Visit visit) {
  for (int64_t first = 0; first < rows;) {
    const int64_t tokens = kernels::NextTileTokens(rows - first);
    const int64_t tiles =
        tokens == kernels::kTileTokens ? (rows - first) / kernels::kTileTokens : 1;
    visit(first, tiles, tokens);
    first += tiles * tokens;
  }
}

// Tiles that are as long are rows of one exchange, whose columns are one stretch in each.
void GatherTiles(const PartedRows& parted, const PackedMatrix& matrix, const Context& context) {
  const ScopedPhase phase(context.execution.profile, parted.phase);
  ForEachRunOfTiles(parted.count, [&](int64_t first, int64_t tiles, int64_t tokens) {
    context.execution.exchange->Gather(
        ColumnsOfTiles(parted, matrix, first, tiles, tokens, context));
  });
}

void GatherRuns(const Rows& rows, int64_t row_count, const ColumnRuns& own, Phase phase,
                const Context& context) {
  if (context.execution.exchange == nullptr) return;
  const ScopedPhase scope(context.execution.profile, phase);
  context.execution.exchange->Gather({.rows = rows.data,
                                      .stride = rows.stride,
                                      .row_count = row_count,
                                      .first = own.first,
                                      .count = own.count,
                                      .runs = own.runs,
                                      .run_stride = own.run_stride});
}

// Of `others` columns of other ranks; a rank that has all is alone.
void AddFloats(int64_t others, int64_t rows, StepWork& work) {
  if (others > 0) work.AddGather(1, others * rows * int64_t{sizeof(float)});
}

}  // namespace

void Gather(const Rows& rows, int64_t row_count, const RowPart& own, Phase phase,
            const Context& context) {
  GatherRuns(rows, row_count, RunsOf(own), phase, context);
}

void MultiplyParted(const PartedRows& rows, const Product& product, Phase phase,
                    const Context& context) {
  const PackedMatrix& matrix = *product.weights;
  if (context.execution.exchange == nullptr || !IsGatheredAsTiles(rows.own, matrix)) {
    GatherRuns(rows.rows, rows.count, rows.own, rows.phase, context);
    MultiplyRows(MadeRows{rows.rows, rows.count}, product, phase, context);
    return;
  }
  PrepareOwn(rows, matrix, context);
  GatherTiles(rows, matrix, context);
  Multiply(std::span(&product, 1), rows.count, phase, context);
}

void MultiplyPart(const MadeRows& rows, const Product& product, const RowPart& own, Phase phase,
                  const Context& context) {
  MultiplyRows(rows, {product.weights, ColumnsOf(product.out, own), product.bias}, phase, context);
  Gather(product.out, rows.count, own, phase, context);
}

void MultiplyPartedToAll(const PartedRows& rows, const Product& product, const RowPart& own,
                         Phase phase, const Context& context) {
  MultiplyParted(rows, {product.weights, ColumnsOf(product.out, own), product.bias}, phase,
                 context);
  Gather(product.out, rows.count, own, phase, context);
}

void AddGather(const RowPart& own, int64_t rows, StepWork& work) {
  AddFloats(own.all_rows - own.rows, rows, work);
}

void AddGather(const ColumnRuns& own, int64_t all, const PackedMatrix& matrix, int64_t rows,
               StepWork& work) {
  const int64_t others = all - own.runs * own.count;
  if (others == 0 || !IsGatheredAsTiles(own, matrix)) return AddFloats(others, rows, work);
  int64_t gathers = 0;
  ForEachRunOfTiles(rows, [&](int64_t, int64_t, int64_t) { ++gathers; });
  work.AddGather(gathers, rows * kernels::ActivationBytes(FormatOf(matrix), others));
}

}  // namespace skald::model
