#include "model/tensors.h"

#include <utility>

namespace skald::model {

void RowPieces::Add(int64_t first, int64_t count) {
  if (count == 0) return;
  if (!runs.empty() && runs.back().first + runs.back().count == first) {
    runs.back().count += count;
  } else {
    runs.push_back({first, count});
  }
}

int64_t RowPieces::rows() const {
  int64_t rows = 0;
  for (const RowRun& run : runs) rows += run.count;
  return rows;
}

RowPieces PiecesOf(const RowPart& part) {
  RowPieces pieces = {.all_rows = part.all_rows};
  pieces.Add(part.first_row, part.rows);
  return pieces;
}

std::span<kernels::PackedMatrix> TensorSlot::matrices() const {
  if (const auto* one = std::get_if<kernels::PackedMatrix*>(&place)) return {*one, 1};
  if (row_table() != nullptr) return {&row_table()->packed, 1};
  auto& several = *std::get<std::vector<kernels::PackedMatrix>*>(place);
  several.resize(static_cast<size_t>(slices));
  return several;
}

void TensorList::Matrix(std::string_view name, int64_t rows, int64_t cols,
                        kernels::PackedMatrix* place, Presence presence) {
  slots_.push_back({.name = prefix_ + std::string(name),
                    .rows = rows,
                    .cols = cols,
                    .presence = presence,
                    .place = place});
}

void TensorList::Slices(std::string_view name, const SliceShape& shape,
                        std::vector<kernels::PackedMatrix>* places) {
  slots_.push_back({.name = prefix_ + std::string(name),
                    .rows = shape.rows,
                    .cols = shape.cols,
                    .slices = shape.slices,
                    .place = places});
}

void TensorList::MatrixPart(std::string_view name, const RowPart& part, int64_t cols,
                            kernels::PackedMatrix* place, Presence presence) {
  Matrix(name, part.rows, cols, place, presence);
  CutLast(part);
}

// A tensor of which all is one part is nobody else's.
void TensorList::CutLast(const RowPart& part) {
  if (part.rows == part.all_rows) return;
  slots_.back().first_row = part.first_row;
  slots_.back().all_rows = part.all_rows;
}

void TensorList::CutLast(const RowPieces& pieces) {
  const RowRun first = pieces.runs.empty() ? RowRun{} : pieces.runs.front();
  CutLast({first.first, pieces.rows(), pieces.all_rows});
  if (pieces.runs.size() > 1) slots_.back().runs = pieces.runs;
}

void TensorList::CutSlicesOfLast(const RowPart& slices) {
  if (slices.rows == slices.all_rows) return;
  slots_.back().first_slice = slices.first_row;
  slots_.back().all_slices = slices.all_rows;
}

void TensorList::MatrixPieces(std::string_view name, const RowPieces& pieces, int64_t cols,
                              kernels::PackedMatrix* place) {
  Matrix(name, pieces.rows(), cols, place);
  CutLast(pieces);
}

void TensorList::VectorPieces(std::string_view name, const RowPieces& pieces,
                              std::vector<float>* place) {
  Vector(name, pieces.rows(), place);
  CutLast(pieces);
}

void TensorList::TablePieces(std::string_view name, const RowPieces& pieces, int64_t length,
                             std::vector<float>* place) {
  Table(name, pieces.rows(), length, place);
  CutLast(pieces);
  slots_.back().vector_cut = VectorCut::kRows;
}

void TensorList::SomeSlices(std::string_view name, const RowPart& slices, int64_t rows,
                            int64_t cols, std::vector<kernels::PackedMatrix>* places) {
  Slices(name, {slices.rows, rows, cols}, places);
  CutSlicesOfLast(slices);
}

void TensorList::SlicesPart(std::string_view name, int64_t slices, const RowPart& part,
                            int64_t cols, std::vector<kernels::PackedMatrix>* places) {
  Slices(name, {slices, part.rows, cols}, places);
  CutLast(part);
}

void TensorList::StackedPart(std::string_view name, const RowPart& slices, const RowPart& part,
                             int64_t cols, std::vector<kernels::PackedMatrix>* places) {
  SlicesPart(name, slices.rows, part, cols, places);
  CutSlicesOfLast(slices);
  slots_.back().stacked = true;
}

void TensorList::StackedColumns(std::string_view name, const RowPart& slices, const RowPart& part,
                                int64_t cols, std::vector<kernels::PackedMatrix>* places) {
  StackedPart(name, slices, part, cols, places);
  std::swap(slots_.back().rows, slots_.back().cols);
  slots_.back().storing = Storing::kColumns;
}

void TensorList::VectorPart(std::string_view name, const RowPart& part, std::vector<float>* place,
                            Presence presence) {
  Vector(name, part.rows, place, presence);
  CutLast(part);
}

void TensorList::Vector(std::string_view name, int64_t length, std::vector<float>* place,
                        Presence presence) {
  slots_.push_back({.name = prefix_ + std::string(name),
                    .rows = 1,
                    .cols = length,
                    .presence = presence,
                    .place = place});
}

void TensorList::RowTable(std::string_view name, int64_t rows, int64_t cols,
                          model::RowTable* place) {
  slots_.push_back(
      {.name = prefix_ + std::string(name), .rows = rows, .cols = cols, .place = place});
}

void TensorList::Table(std::string_view name, int64_t rows, int64_t length,
                       std::vector<float>* place) {
  Vector(name, length, place);
  slots_.back().rows = rows;
}

void TensorList::TablePart(std::string_view name, int64_t rows, const RowPart& part,
                           std::vector<float>* place) {
  VectorPart(name, part, place);
  slots_.back().rows = rows;
}

}  // namespace skald::model
