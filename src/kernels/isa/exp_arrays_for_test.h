/// The vector Exp as functions that a test can call, one per instruction set. Only for exp_test.cc.
#pragma once

#include <cstdint>

namespace skald::kernels {

namespace avx2 {
/// y[i] = Exp(x[i]) for i < n, a multiple of 16.
void ExpArray(const float* x, float* y, int64_t n);
}  // namespace avx2

namespace avx512 {
void ExpArray(const float* x, float* y, int64_t n);
}  // namespace avx512

}  // namespace skald::kernels
