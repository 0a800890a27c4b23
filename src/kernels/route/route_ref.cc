#include <algorithm>
#include <limits>

#include "kernels/isa/exp_ref.h"
#include "kernels/route/route.h"

namespace skald::kernels {
namespace {

// The experts with the largest scores, the best first, of equal ones the lower index: it comes
// first here and only a larger score goes before it.
void Choose(const RouteArgs& args) {
  int64_t count = 0;
  for (int64_t expert = 0; expert < args.experts; ++expert) {
    const float score = args.scores[expert];
    int64_t place = count;
    while (place > 0 && score > args.scores[args.chosen[place - 1]]) --place;
    if (place == args.used) continue;
    if (count < args.used) ++count;
    std::copy_backward(args.chosen + place, args.chosen + count - 1, args.chosen + count);
    args.chosen[place] = static_cast<int32_t>(expert);
  }
}

struct Softmax {
  float largest = -std::numeric_limits<float>::infinity();
  float sum = 0;
};

Softmax SoftmaxOf(const RouteArgs& args) {
  Softmax result;
  for (int64_t i = 0; i < args.experts; ++i) {
    if (args.scores[i] > result.largest) result.largest = args.scores[i];
  }
  float partial[16] = {};
  for (int64_t i = 0; i < args.experts; ++i) {
    partial[i % 16] += ExpRef(args.scores[i] - result.largest);
  }
  for (int half = 8; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) partial[j] += partial[j + half];
  }
  result.sum = partial[0];
  return result;
}

}  // namespace

void Route(const RouteArgs& args) {
  Choose(args);
  std::sort(args.chosen, args.chosen + args.used);
  const Softmax softmax = SoftmaxOf(args);
  float sum = 0;
  for (int64_t i = 0; i < args.used; ++i) {
    args.weights[i] = ExpRef(args.scores[args.chosen[i]] - softmax.largest) / softmax.sum;
    sum += args.weights[i];
  }
  // The smallest normal half: where published models and others stop, so that nothing is divided
  // by 0. A NaN passes through std::max as its first argument.
  const float divisor = std::max(sum, 0x1p-14f);
  for (int64_t i = 0; i < args.used; ++i) args.weights[i] /= divisor;
}

}  // namespace skald::kernels
