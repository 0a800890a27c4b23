/// Elementwise operations between the matmuls: SwiGLU (Shazeer 2020; numerics 3.3), addition (3.4)
/// and scaled addition (3.10).
#pragma once

#include <cstdint>

#include "kernels/isa/isa.h"

namespace skald::kernels {

/// y[i] = silu(gate[i]) * up[i] for i < n. y may equal gate or up, else no overlap. Any thread; one
/// pass; allocates nothing.
using SwigluFn = void (*)(const float* gate, const float* up, float* y, int64_t n);

/// y[i] += x[i] for i < n. The residual connection and the bias. Any thread; one pass; allocates
/// nothing.
using AddFn = void (*)(const float* x, float* y, int64_t n);

/// y[i] = fma(a, x[i], y[i]) for i < n: the weighted sum over experts (numerics 3.10). No overlap.
/// Any thread; one pass; allocates nothing.
using AddScaledFn = void (*)(float a, const float* x, float* y, int64_t n);

/// The variants for `isa`: all give the same bits. Require isa <= DetectIsa().
SwigluFn SwigluFor(Isa isa);
AddFn AddFor(Isa isa);
AddScaledFn AddScaledFor(Isa isa);

}  // namespace skald::kernels
