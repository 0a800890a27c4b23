/// Are the stored weights of a file numbers? NaN and infinity in one of them make every answer of
/// the model fail, so a loader asks for each block it reads.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace skald::kernels {

/// True if every scale and minimum of `source`, or every element of a float type, is finite; MXFP4
/// has a NaN among its exponents, NVFP4 one among its scales. The products of finite ones can still
/// overflow. Requires whole blocks of `dtype`. Any thread. Cost: one load for each scale or
/// element, little beside packing what is in the cache.
bool AllFinite(tensor::DType dtype, std::span<const std::byte> source);

}  // namespace skald::kernels
