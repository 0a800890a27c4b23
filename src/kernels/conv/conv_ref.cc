#include <array>
#include <cmath>

#include "kernels/conv/variants.h"
#include "kernels/isa/exp_ref.h"

namespace skald::kernels::scalar {
namespace {

float Activate(ConvActivation activation, float s) {
  return activation == ConvActivation::kSilu ? s / (1.0f + ExpRef(-s)) : s;
}

void ConvChannel(const ConvArgs& args, int64_t c) {
  const float* weights = args.weights + c * args.taps;
  // The inputs of all taps; the last is the row at hand.
  std::array<float, kMaxConvTaps> z = {};
  const auto last = static_cast<size_t>(args.taps - 1);
  for (size_t j = 0; j < last && !args.begins; ++j) {
    z[j] = args.state[static_cast<int64_t>(j) * args.state_stride + c];
  }
  for (int64_t t = 0; t < args.rows; ++t) {
    z[last] = args.x[t * args.x_stride + c];
    if (args.x_gate != nullptr) z[last] = z[last] * args.x_gate[t * args.x_gate_stride + c];
    float s = args.bias == nullptr ? 0.0f : args.bias[c];
    for (size_t j = 0; j <= last; ++j) s = std::fma(weights[j], z[j], s);
    s = Activate(args.activation, s);
    if (args.y_gate != nullptr) s = s * args.y_gate[t * args.y_gate_stride + c];
    args.y[t * args.y_stride + c] = s;
    for (size_t j = 0; j < last; ++j) z[j] = z[j + 1];
  }
  for (size_t j = 0; j < last; ++j) {
    args.state[static_cast<int64_t>(j) * args.state_stride + c] = z[j];
  }
}

}  // namespace

void Conv(const ConvArgs& args) {
  for (int64_t c = 0; c < args.channels; ++c) ConvChannel(args, c);
}

}  // namespace skald::kernels::scalar
