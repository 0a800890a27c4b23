/// Elementwise operations between the matmuls: SwiGLU and GeGLU (Shazeer 2020; numerics 3.3), GELU
/// (Hendrycks & Gimpel 2016, the form with tanh and the one with erf), addition (3.4), scaled
/// addition (3.10) and the soft cap of logits (Gemma Team 2024; numerics 3.12).
#pragma once

#include <cstdint>

namespace skald::kernels {

/// y[i] = silu(gate[i]) * up[i] for i < n. y may equal gate or up, else no overlap. Any thread; one
/// pass; allocates nothing.
using SwigluFn = void (*)(const float* gate, const float* up, float* y, int64_t n);

/// The same with sigmoid(gate[i]) * up[i] (Dauphin et al. 2017).
using GluFn = SwigluFn;

/// The same with gelu(gate[i]) * up[i]; GELU in either form.
using GegluFn = SwigluFn;

/// The same with a sigmoid(1.702 a) * (u + 1), a the gate up to 7 and u `up` between -7 and 7
/// (OpenAI 2025, gpt-oss).
using SwigluClampedFn = SwigluFn;

/// The same with min(silu(gate[i]), limit) * (up[i] between -limit and limit), limit > 0 (StepFun
/// 2026, Step 3.5).
using SwigluLimitedFn = void (*)(float limit, const float* gate, const float* up, float* y,
                                 int64_t n);

/// y[i] = gelu(x[i]) for i < n. y may equal x, else no overlap. Any thread; one pass; allocates
/// nothing.
using GeluFn = void (*)(const float* x, float* y, int64_t n);

/// The same with the square of x[i] where it is above 0, else 0 (So et al. 2021, Primer).
using ReluSquaredFn = GeluFn;

/// x[i] = cap * tanh(x[i] / cap) for i < n, cap > 0: softly inside -cap .. cap. Any thread; one
/// pass; allocates nothing.
using SoftCapFn = void (*)(float cap, float* x, int64_t n);

/// y[i] += x[i] for i < n. The residual connection and the bias. Any thread; one pass; allocates
/// nothing.
using AddFn = void (*)(const float* x, float* y, int64_t n);

/// y[i] = fma(a, x[i], y[i]) for i < n: the weighted sum over experts (numerics 3.10). No overlap.
/// Any thread; one pass; allocates nothing.
using AddScaledFn = void (*)(float a, const float* x, float* y, int64_t n);

}  // namespace skald::kernels
