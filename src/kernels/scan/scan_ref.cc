#include <cmath>

#include "kernels/scan/variants.h"

namespace skald::kernels::scalar {
namespace {

// One element of the head and its column of the state.
void ScanColumn(const ScanArgs& args, int64_t p) {
  const auto state = [&](int64_t n) -> float& { return args.state[n * args.head_dim + p]; };
  for (int64_t n = 0; n < args.state_dim && args.begins; ++n) state(n) = 0;
  for (int64_t t = 0; t < args.rows; ++t) {
    const float* b = args.b + t * args.row_stride;
    const float* c = args.c + t * args.row_stride;
    const float decay = args.decay[t * args.gate_stride];
    const float x = args.x[t * args.row_stride + p];
    const float taken = args.step[t * args.gate_stride] * x;
    float y = 0;
    for (int64_t n = 0; n < args.state_dim; ++n) {
      state(n) = std::fma(b[n], taken, state(n) * decay);
      y = std::fma(state(n), c[n], y);
    }
    args.y[t * args.y_stride + p] = std::fma(args.skip, x, y);
  }
}

}  // namespace

void Scan(const ScanArgs& args) {
  for (int64_t p = 0; p < args.head_dim; ++p) ScanColumn(args, p);
}

}  // namespace skald::kernels::scalar
