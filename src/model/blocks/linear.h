/// Linear layers in two parts: rows of a step on their way into matrices, and the product with one
/// or several matrices that share their input.
///
/// What stands before a block (the sum of the residual stream, a norm) belongs to the layer and
/// comes as an Input; the block says which matrices read it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/pack/panel.h"
#include "model/context.h"
#include "model/norm.h"
#include "model/tensors.h"
#include "model/work.h"

namespace skald::model {

/// One matrix and where its product goes: out.row(m)[n] = sum over k of weights[n][k] *
/// input[m][k], n up to padded_rows(), times the factor of the matrix; then + bias[n] (numerics
/// 3.4), n below the matrix's rows.
struct Product {
  const kernels::PackedMatrix* weights = nullptr;
  Rows out;
  std::span<const float> bias = {};  ///< empty, or a number for each row of the matrix
};

/// Consecutive rows of a buffer, and where they stand among the rows that are prepared.
struct RowRange {
  int64_t first;
  int64_t count;
  int64_t prepared = first;  ///< in workspace.tiles, counted in rows of the columns at hand
};

/// What the block before gives to the residual stream (numerics 3.4): rows, normed where they stand
/// and then multiplied, if the layer says so.
struct Addend {
  Rows rows = {};              ///< without data: nothing
  const Norm* norm = nullptr;  ///< or nullptr for none
  float scale = 1;
  float sum_scale = 1;             ///< of the sum with the residual stream
  const Norm* sum_norm = nullptr;  ///< of that sum, which stays where it stands; or nullptr
};

/// Rows on their way into matrices, with an optional sum and an optional norm.
struct Input {
  Rows rows;  ///< [row_count][cols]
  int64_t row_count = 0;
  Addend addend = {};          ///< added to `rows` first, where they stand
  const Norm* norm = nullptr;  ///< or nullptr for none
  /// Where the normed rows go; or, without a norm, where the rows that the matrices read stand
  /// already. Without data: the matrices read `rows`.
  Rows normed = {};

  const Rows& source() const { return normed.data == nullptr ? rows : normed; }
};

/// The first part of Prepare: sum and norm of some of the rows of `cols` elements.
void AddAndNorm(const Input& input, const RowRange& rows, int64_t cols, const Execution& execution);

/// Adds, norms, and writes the rows to workspace.tiles once in each activation format that a matrix
/// needs (numerics 3.1, 3.4, 3.5). All matrices have the same number of columns. One barrier.
void Prepare(const Input& input, std::span<const Product> products, const Context& context);

/// Multiplies all products with the first `row_count` rows that Prepare has written (numerics 3.6).
/// One barrier: the units of all products are one loop.
void Multiply(std::span<const Product> products, int64_t row_count, Phase phase,
              const Context& context);

/// Rows that a block has made itself: without a sum and a norm before the matrix.
struct MadeRows {
  Rows rows;
  int64_t count;
};

/// Prepare and Multiply of one matrix.
void MultiplyRows(const MadeRows& rows, const Product& product, Phase phase,
                  const Context& context);

/// Some panels of a matrix, and the worker that multiplies them.
struct PanelRange {
  int64_t first;
  int64_t count;
  int worker;
};

/// Panels of one unit of work of a matrix for so many rows: few enough for L2, and so few that
/// every thread gets several units.
int64_t PanelsPerUnit(const kernels::PackedMatrix& matrix, int64_t rows,
                      const kernels::KernelTable& kernels, int threads);

/// The part of Multiply that one unit is, for rows that Prepare or Quantize has written as one
/// range.
void MultiplyPanels(const Product& product, const PanelRange& panels, const RowRange& rows,
                    const Context& context);

/// The activation formats that some matrices need, by ActivationFormat.
using Formats = std::array<bool, kernels::kActivationFormatCount>;
Formats FormatsOf(std::span<const Product> products);

/// The part of Prepare that comes last: writes a range of rows of `cols` elements to the tiles. A
/// range that is longer than a tile must begin a multiple of 16 rows behind the first row of what
/// is multiplied as one.
void Quantize(const Rows& source, const RowRange& rows, int64_t cols, const Formats& formats,
              const Context& context);

/// Some columns of the rows that a matrix reads.
struct ColumnRange {
  int64_t first;  ///< as `count`, a multiple of the columns of a unit of the format
  int64_t count;
};

/// Writes them to their place in the tiles of `matrix`, of rows whose other columns come from
/// elsewhere.
void QuantizeColumns(const kernels::PackedMatrix& matrix, const Rows& source, const RowRange& rows,
                     const ColumnRange& columns, const Context& context);

/// What one worker needs to multiply rows by itself: tiles that are its own.
struct OwnTiles {
  std::byte* tiles;  ///< OwnTileBytes, 64-byte aligned
  int worker;
};
int64_t OwnTileBytes(int64_t rows, int64_t cols);

/// The second part of Prepare, and Multiply, in one worker: the first `row_count` rows of `source`
/// by a matrix of which no other worker has a part. Without a bias.
void MultiplyAlone(const Product& product, const Rows& source, int64_t row_count,
                   const OwnTiles& own, const Context& context);

/// Counts what Prepare and Multiply do for `rows` rows.
void AddWork(std::span<const kernels::PackedMatrix* const> matrices, int64_t rows, Phase phase,
             StepWork& work);
/// The same of one product with a matrix, without what prepares its rows. Of experts `matrix` is
/// the first, and each of the rows has one of them.
void AddProductWork(const kernels::PackedMatrix& matrix, int64_t rows, Phase phase, StepWork& work);
/// A product of which fewer or more bytes are read than those of the matrix.
void AddProductWork(const kernels::PackedMatrix& matrix, int64_t rows, Phase phase,
                    const Work& counted, StepWork& work);
/// What Multiply alone does, for one matrix, and Prepare alone.
Work MultiplyWork(const kernels::PackedMatrix& matrix, int64_t rows);
Work PrepareWork(std::span<const kernels::PackedMatrix* const> matrices, int64_t rows);

}  // namespace skald::model
