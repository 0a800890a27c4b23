/// TensorCoding: the shape in which stored bytes lie, and what they become.
#pragma once

#include <cstdint>

#include "huggingface/config.h"
#include "huggingface/planned_tensor.h"
#include "skald/status.h"

namespace skald::huggingface {

/// The dimensions of one slice: rows and columns. Vectors have one row.
struct StoredShape {
  uint64_t slices = 1;
  uint64_t rows = 1;
  uint64_t columns = 1;
  bool is_vector = false;
};

/// Whether the first dimension of a stored tensor counts experts.
enum class Stacking : uint8_t { kOne, kStacked };

/// The dimensions of `stored`. Errors: kBadModel for none, kUnsupported for more than a matrix has,
/// and the experts.
Result<StoredShape> ReadStoredShape(const formats::StoredTensor& stored, Stacking stacking);

/// What MXFP4's blocks [experts, rows, columns / 32, 16] say. Errors: kUnsupported for another
/// shape, and for other tensors of bytes.
Result<StoredShape> ReadMxfp4Shape(const formats::StoredTensor& blocks);

/// Chooses the coding and the type of `tensor`, whose rows, columns and slices are set, and finds
/// the scales of its slices. Errors: kBadModel for scales that lack or have another shape;
/// kUnsupported for other types.
Status ChooseCoding(const Config& config, const StoredByName& stored, PlannedTensor* tensor);

}  // namespace skald::huggingface
