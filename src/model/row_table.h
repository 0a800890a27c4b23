/// RowTable: a matrix of which a step needs a few rows as they are, no product: packed in memory,
/// or left in the file, where it is large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/pack/panel.h"

namespace skald::model {

/// Rows where they lie.
class RowReader {
 public:
  virtual ~RowReader() = default;

  /// Of the stored rows.
  virtual int64_t row_bytes() const = 0;

  /// Writes the elements of a row (numerics 3.8). `scratch` has row_bytes. Any thread; one read;
  /// allocates nothing unless it fails. A forward pass cannot fail: what cannot be read any more (a
  /// file that shrank, a broken disk) is NaN, and the request that asks for it ends with an error.
  virtual void Read(int64_t row, std::span<std::byte> scratch, float* out) const = 0;
};

struct RowTable {
  kernels::PackedMatrix packed = {};  ///< without panels: `reader` has the rows
  std::shared_ptr<const RowReader> reader = nullptr;

  /// Of what Row needs.
  int64_t scratch_bytes() const { return reader == nullptr ? 0 : reader->row_bytes(); }

  /// Writes the elements of a row: the same bits from either place.
  void Row(int64_t row, std::byte* scratch, float* out) const {
    if (reader == nullptr) return kernels::UnpackRow(packed, row, out);
    reader->Read(row, {scratch, static_cast<size_t>(reader->row_bytes())}, out);
  }
};

}  // namespace skald::model
