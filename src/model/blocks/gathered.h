/// What the ranks of a network that was split give each other (docs/decisions/0029, 0062): columns
/// of rows, as floats or as the tiles that the next matrix reads. Without other ranks nothing is
/// given, and the products are those of linear.h.
#pragma once

#include <cstdint>

#include "model/blocks/linear.h"
#include "model/context.h"
#include "model/tensors.h"
#include "model/work.h"

namespace skald::model {

/// Where the product of a part of a matrix goes: to its columns of `rows`. A layout that is only
/// measured has no rows yet.
inline Rows ColumnsOf(const Rows& rows, const RowPart& part) {
  return {rows.data == nullptr ? nullptr : rows.data + part.first_row, rows.stride};
}

/// The columns of a rank where they stand in several runs, as ranks::Columns has them.
struct ColumnRuns {
  int64_t first = 0;
  int64_t count = 0;
  int64_t runs = 1;
  int64_t run_stride = 0;
  int64_t multiple = 1;  ///< of which the others are multiples, in all ranks
};
inline ColumnRuns RunsOf(const RowPart& part) {
  return {.first = part.first_row, .count = part.rows, .multiple = part.multiple};
}

/// Brings what other ranks have computed of the first `row_count` rows, each the columns of its
/// part, to its place. Without other ranks it does nothing.
void Gather(const Rows& rows, int64_t row_count, const RowPart& own, Phase phase,
            const Context& context);

/// Rows of which each rank has made the columns `own` and nobody reads the others, but for the
/// matrix that comes next.
struct PartedRows {
  Rows rows;
  int64_t count;
  ColumnRuns own;
  Phase phase;  ///< to which what ranks give each other belongs
};

/// What Gather and MultiplyRows together give. Where the columns of all ranks are whole units of
/// the format that the matrix reads, each rank prepares its own and they exchange tiles, a third of
/// the bytes of floats; the floats of other ranks never come then. At most three exchanges.
void MultiplyParted(const PartedRows& rows, const Product& product, Phase phase,
                    const Context& context);

/// MultiplyRows with the rows `own` of a matrix, and Gather: `product.out` has the columns of all
/// ranks afterwards.
void MultiplyPart(const MadeRows& rows, const Product& product, const RowPart& own, Phase phase,
                  const Context& context);

/// The same of rows that are parted themselves.
void MultiplyPartedToAll(const PartedRows& rows, const Product& product, const RowPart& own,
                         Phase phase, const Context& context);

/// Counts Gather of `rows` rows.
void AddGather(const RowPart& own, int64_t rows, StepWork& work);
/// Counts what MultiplyParted gathers, of `all` columns.
void AddGather(const ColumnRuns& own, int64_t all, const kernels::PackedMatrix& matrix,
               int64_t rows, StepWork& work);
inline void AddGather(const RowPart& own, const kernels::PackedMatrix& matrix, int64_t rows,
                      StepWork& work) {
  AddGather(RunsOf(own), own.all_rows, matrix, rows, work);
}

}  // namespace skald::model
