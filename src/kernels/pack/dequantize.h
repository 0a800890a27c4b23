/// Reference dequantization: a stored row as floats, straight from the block layouts.
///
/// The oracle of the packer: it shares nothing with pack.cc or unpack.cc but the definitions of
/// tensor/quant_blocks.h and the operations of numerics 3.8. One element at a time, for tests,
/// vectors, single rows and what is transposed; matrices are read through panels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace skald::kernels {

/// Writes the elements of one stored row to out[0..cols).
///   source   the row as in the file: cols / block_elements blocks of block_bytes bytes
/// Requires cols to be a multiple of the dtype's block and `source` to have exactly those bytes.
void DequantizeRow(tensor::DType dtype, std::span<const std::byte> source, int64_t cols,
                   float* out);

}  // namespace skald::kernels
