/// The specification of the functions in activation.h, for isa/scalar.cc. The vector variants are
/// the templates of activation_generic.h.
#pragma once

#include "kernels/activation/activation.h"

namespace skald::kernels {

namespace scalar {
void Swiglu(const float* gate, const float* up, float* y, int64_t n);
void Glu(const float* gate, const float* up, float* y, int64_t n);
void Geglu(const float* gate, const float* up, float* y, int64_t n);
void GegluErf(const float* gate, const float* up, float* y, int64_t n);
void SwigluClamped(const float* gate, const float* up, float* y, int64_t n);
void SwigluLimited(float limit, const float* gate, const float* up, float* y, int64_t n);
void Gelu(const float* x, float* y, int64_t n);
void GeluErf(const float* x, float* y, int64_t n);
void ReluSquared(const float* x, float* y, int64_t n);
void SoftCap(float cap, float* x, int64_t n);
void Add(const float* x, float* y, int64_t n);
void AddScaled(float a, const float* x, float* y, int64_t n);
}  // namespace scalar

}  // namespace skald::kernels
