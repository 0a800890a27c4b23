/// QuantizeRow: floats to the blocks of a stored type, with the least squared error that a search
/// over scales finds.
///
/// For a given choice of integers the best scale, or scale and minimum, is a linear least squares
/// problem of one or two unknowns; for a given scale the best integers are the nearest ones. So
/// some scales around the one that just fits the largest element are tried: integers by rounding,
/// then the scale by least squares, and the pair with the least error stays. Super-blocks then
/// round the scales of their parts to integers, and the integers of the elements are chosen once
/// more.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace skald::quantizer {

/// Writes `values` as blocks of `dtype` to `out`.
///   dtype   kF16, kQ8_0, kQ4_0, kQ4_K, kQ5_K or kQ6_K
///   values  whole blocks; finite
///   out     exactly their bytes
/// Scales beyond the largest half become it. Any thread.
void QuantizeRow(tensor::DType dtype, std::span<const float> values, std::span<std::byte> out);

}  // namespace skald::quantizer
