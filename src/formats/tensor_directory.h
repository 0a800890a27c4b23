/// TensorDirectory: the proven list of tensors of a model file.
///
/// A file claims names, types, shapes and offsets; a directory exists only if all of them hold
/// together. Whoever has a TensorInfo may compute with its numbers without another check: they do
/// not overflow, and the bytes were inside the file when it was opened.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "skald/status.h"
#include "tensor/dtype.h"

namespace skald::formats {

/// Dimensions a tensor may have, as in GGUF (GGML_MAX_DIMS).
inline constexpr int kTensorDimsMax = 4;

/// One tensor. What holds for every TensorInfo that comes from a directory:
/// - 1 <= dim_count <= 4; every dim >= 1; dims beyond dim_count are 1;
/// - dims[0] is the row: contiguous elements, a multiple of the type's block_elements;
/// - byte_count = row bytes * dims[1] * dims[2] * dims[3], computed without overflow;
/// - [offset, offset + byte_count) lies inside file `part` and meets no other tensor's bytes.
struct TensorInfo {
  std::string_view name;  ///< 1 to 64 printable ASCII bytes; valid as long as the directory
  tensor::DType dtype;
  uint8_t dim_count;
  uint16_t part;                              ///< which file of a split model; 0 is the first
  std::array<uint64_t, kTensorDimsMax> dims;  ///< GGUF order: dims[0] varies fastest
  uint64_t offset;                            ///< in bytes from the start of the file `part`
  uint64_t byte_count;

  /// Elements in a row, dims[0].
  uint64_t columns() const { return dims[0]; }
  /// Rows of dims[0] elements: the product of all other dims.
  uint64_t rows() const { return dims[1] * dims[2] * dims[3]; }
  /// Bytes of one row. Row r starts at offset + r * row_bytes().
  uint64_t row_bytes() const { return byte_count / rows(); }
};

/// A tensor as a file describes it, nothing checked.
struct TensorClaim {
  std::string_view name;
  uint32_t type_id = 0;
  uint32_t dim_count = 0;
  std::array<uint64_t, kTensorDimsMax> dims = {1, 1, 1, 1};
  uint64_t data_offset = 0;  ///< from the start of the data section
};

/// The tensors of one file or, after Merge, of all files of a split model. Copies share the names.
class TensorDirectory {
 public:
  TensorDirectory() = default;

  /// All tensors, in file order.
  std::span<const TensorInfo> all() const { return tensors_; }
  size_t size() const { return tensors_.size(); }

  /// The tensor of that name, or null. O(log size()).
  const TensorInfo* Find(std::string_view name) const;

  /// The tensor of that name. Errors: kBadModel "tensor 'x' is missing".
  Result<const TensorInfo*> Get(std::string_view name) const;

  /// The directory of a split model: the tensors of all parts, `part` set to the index in `parts`.
  /// Errors: kBadModel if a name stands in two parts, with both.
  static Result<TensorDirectory> Merge(std::span<const TensorDirectory> parts);

 private:
  friend class TensorDirectoryBuilder;
  Status IndexNames();

  std::vector<TensorInfo> tensors_;
  std::vector<uint32_t> by_name_;  // indices into tensors_, ascending by name
  std::vector<std::shared_ptr<const std::byte[]>> names_;  // keeps what the names point into
};

/// Turns claims into a directory; the only way to make one. Claims are checked as they are added,
/// so a file that claims 65,536 tensors and lies in the second costs two.
class TensorDirectoryBuilder {
 public:
  /// `alignment`: a power of two. `names`: the memory the claims' names point into.
  TensorDirectoryBuilder(uint64_t alignment, std::shared_ptr<const std::byte[]> names);

  /// Reserves room for `count` tensors; the caller has bounded `count` by the bytes of the file.
  void Reserve(size_t count);

  /// Checks and adds the next tensor. Data must tile the data section as GGUF writers lay it out
  /// (and llama.cpp requires): the first tensor at 0, each next one at the aligned end of the one
  /// before, no gaps but this padding. Errors name the tensor, what was expected and what was
  /// found: kUnsupported for an element type skald does not read, kBadModel for all else.
  Status Add(const TensorClaim& claim);

  /// The directory of a file of `file_bytes` bytes whose data section starts at `data_begin`.
  /// Errors: kBadModel if a tensor ends beyond the file or a name stands twice.
  Result<TensorDirectory> Finish(uint64_t data_begin, uint64_t file_bytes) &&;

 private:
  uint64_t alignment_;
  uint64_t next_offset_ = 0;  // where the next tensor must start, from data_begin
  TensorDirectory directory_;
};

}  // namespace skald::formats
