/// Elementwise operations between the matmuls: SwiGLU (Shazeer 2020; numerics 3.3) and addition
/// (3.4).
#pragma once

#include <cstdint>

namespace skald::kernels {

/// y[i] = silu(gate[i]) * up[i] for i < n. y may equal gate or up.
using SwigluFn = void (*)(const float* gate, const float* up, float* y, int64_t n);

/// y[i] += x[i] for i < n. The residual connection and the bias.
using AddFn = void (*)(const float* x, float* y, int64_t n);

}  // namespace skald::kernels
