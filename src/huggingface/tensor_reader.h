/// ReadRows: the bytes of a planned tensor, made from what is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/byte_source.h"
#include "huggingface/tensor_plan.h"
#include "skald/status.h"

namespace skald::huggingface {

/// The files of a folder, by the number of their part.
using Parts = std::vector<std::unique_ptr<ByteSource>>;

/// Bytes of a row of `tensor`, as it comes out.
uint64_t RowBytes(const PlannedTensor& tensor);

/// Fills `out` with the bytes of `tensor` from `begin` on. Requires a range inside of the tensor
/// (its slices, rows and columns in the type that comes out). Errors: kIo. Cost: one read for rows
/// that lie one behind the other as they are stored; else one for each row, or two.
Status ReadPlanned(const Parts& parts, const PlannedTensor& tensor, uint64_t begin,
                   std::span<std::byte> out);

}  // namespace skald::huggingface
