/// TensorSlot and TensorList: which tensors a network has, declared once.
///
/// Each block declares its own (Declare in its folder): name, shape, whether it must be there, and
/// the place in the block where it goes. Everything that handles tensors walks that declaration:
/// binding to a file, packing, counting bytes, random networks of tests, "what is missing".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/row_table.h"

namespace skald::model {

/// Whether a file must have a tensor.
enum class Presence : uint8_t { kRequired, kOptional };

/// Whether matrices that share an input are tensors of their own, or stand one below the other in
/// one.
enum class Fusion : uint8_t { kSeparate, kFused };

/// How a tensor holds a matrix.
enum class Storing : uint8_t {
  kRows,     ///< row by row
  kColumns,  ///< column by column: its transpose
};

/// Rows that stand together.
struct RowRun {
  int64_t first = 0;
  int64_t count = 0;
  friend bool operator==(const RowRun&, const RowRun&) = default;
};

/// What `first_row` and `all_rows` of a slot count, where it is a vector.
enum class VectorCut : uint8_t {
  kElements,  ///< elements: of a table, of each of its rows
  kRows,      ///< rows of a table
};

/// A tensor of a network, and its place in the block that declared it.
struct TensorSlot {
  std::string name;    ///< as GGUF spells it: "blk.3.attn_q.weight"
  int64_t rows = 1;    ///< output elements, of each slice; 1 for vectors that are no tables
  int64_t cols = 0;    ///< input elements, or the length of a vector
  int64_t slices = 1;  ///< matrices in the tensor
  /// Of a tensor that several slots share: rows of it (of a vector: elements) before those of this
  /// slot, and in all. 0 in all: the tensor is this slot's alone.
  int64_t first_row = 0;
  int64_t all_rows = 0;
  std::vector<RowRun> runs = {};  ///< instead of `first_row`, where its rows do not stand together
  VectorCut vector_cut = VectorCut::kElements;
  /// Of a tensor of which each rank has some slices: those before this slot's, and in all; 0 in
  /// all: it has all of them.
  int64_t first_slice = 0;
  int64_t all_slices = 0;
  Storing storing = Storing::kRows;  ///< of columns, `first_row` and `all_rows` count columns
  /// Whether the slices stand one below the other in a tensor of two dimensions, instead of having
  /// one of their own.
  bool stacked = false;
  Presence presence = Presence::kRequired;
  /// Matrices are packed in panels, one by one or as the slices of one tensor; vectors (norms,
  /// biases, taps) are held as floats. Valid as long as the network neither moves nor changes its
  /// layers. What is not in the file stays empty.
  std::variant<kernels::PackedMatrix*, std::vector<kernels::PackedMatrix>*, std::vector<float>*,
               RowTable*>
      place;

  bool is_vector() const { return std::holds_alternative<std::vector<float>*>(place); }
  bool is_stored_by_columns() const { return storing == Storing::kColumns; }
  /// Where the rows are read one by one, so that the tensor may stay in the file; else nullptr.
  RowTable* row_table() const {
    auto* const* table = std::get_if<RowTable*>(&place);
    return table == nullptr ? nullptr : *table;
  }
  bool is_optional() const { return presence == Presence::kOptional; }
  /// The matrix, or the slices, which are made by the first call: a network whose tensors turn out
  /// to be missing takes no memory for them. Requires a slot that is no vector.
  std::span<kernels::PackedMatrix> matrices() const;
  /// Requires a vector.
  std::vector<float>& vector() const { return *std::get<std::vector<float>*>(place); }
};

/// The shape of a tensor of several matrices.
struct SliceShape {
  int64_t slices = 0;
  int64_t rows = 0;
  int64_t cols = 0;
};

/// Rows of a tensor in which several matrices stand one below the other, or of which each rank has
/// some.
struct RowPart {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t all_rows = 0;  ///< of the tensor; 0: nothing was cut
  int64_t multiple = 1;  ///< of which the parts of all ranks, and where they begin, are multiples
};

/// Rows of a tensor that a rank has, in the order in which they go into its matrix.
struct RowPieces {
  int64_t all_rows = 0;  ///< of the tensor
  std::vector<RowRun> runs = {};

  /// Appends `count` rows from `first` on; none, if that is 0.
  void Add(int64_t first, int64_t count);
  int64_t rows() const;
};

/// `part`, or where nothing was cut, all of `rows` rows.
inline RowPart PartOf(const RowPart& part, int64_t rows) {
  return part.all_rows > 0 ? part : RowPart{0, rows, rows};
}

/// The same as pieces.
RowPieces PiecesOf(const RowPart& part);

/// The same part where each of its rows stands for `size` of them.
inline RowPart Times(const RowPart& part, int64_t size) {
  return {part.first_row * size, part.rows * size, part.all_rows * size, part.multiple * size};
}

/// Takes declarations. The order is that of the packed weights in memory: the order of use.
class TensorList {
 public:
  /// Starts a group of tensors whose names begin with `prefix`.
  void Begin(std::string prefix) { prefix_ = std::move(prefix); }

  void Matrix(std::string_view name, int64_t rows, int64_t cols, kernels::PackedMatrix* place,
              Presence presence = Presence::kRequired);
  /// `slices` matrices of the same shape in one tensor.
  void Slices(std::string_view name, const SliceShape& shape,
              std::vector<kernels::PackedMatrix>* places);
  /// The same rows of each of `slices` matrices in one tensor.
  void SlicesPart(std::string_view name, int64_t slices, const RowPart& part, int64_t cols,
                  std::vector<kernels::PackedMatrix>* places);
  /// Some of the matrices in a tensor.
  void SomeSlices(std::string_view name, const RowPart& slices, int64_t rows, int64_t cols,
                  std::vector<kernels::PackedMatrix>* places);
  /// The same rows of some of the matrices that stand one below the other in a tensor of two
  /// dimensions.
  void StackedPart(std::string_view name, const RowPart& slices, const RowPart& part, int64_t cols,
                   std::vector<kernels::PackedMatrix>* places);
  /// The same; the matrices are the transposes of these parts: of `cols` rows.
  void StackedColumns(std::string_view name, const RowPart& slices, const RowPart& part,
                      int64_t cols, std::vector<kernels::PackedMatrix>* places);
  void Vector(std::string_view name, int64_t length, std::vector<float>* place,
              Presence presence = Presence::kRequired);
  /// Some rows of a matrix, and some elements of a vector.
  void MatrixPart(std::string_view name, const RowPart& part, int64_t cols,
                  kernels::PackedMatrix* place, Presence presence = Presence::kRequired);
  void VectorPart(std::string_view name, const RowPart& part, std::vector<float>* place,
                  Presence presence = Presence::kRequired);

  /// The same of rows, or elements, that do not stand together.
  void MatrixPieces(std::string_view name, const RowPieces& pieces, int64_t cols,
                    kernels::PackedMatrix* place);
  void VectorPieces(std::string_view name, const RowPieces& pieces, std::vector<float>* place);

  /// A matrix of which rows are read as they are.
  void RowTable(std::string_view name, int64_t rows, int64_t cols, model::RowTable* place);

  /// `rows` vectors of `length` floats, one behind the other; and the same part of each.
  void Table(std::string_view name, int64_t rows, int64_t length, std::vector<float>* place);
  void TablePart(std::string_view name, int64_t rows, const RowPart& part,
                 std::vector<float>* place);
  /// Some of these vectors, whole.
  void TablePieces(std::string_view name, const RowPieces& pieces, int64_t length,
                   std::vector<float>* place);

  std::vector<TensorSlot> Take() { return std::move(slots_); }

 private:
  void CutLast(const RowPart& part);
  void CutLast(const RowPieces& pieces);
  void CutSlicesOfLast(const RowPart& slices);

  std::string prefix_;
  std::vector<TensorSlot> slots_;
};

}  // namespace skald::model
