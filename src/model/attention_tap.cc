#include "model/attention_tap.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/attention/attention_layout.h"
#include "kernels/attention/attention_weights.h"

namespace skald::model {
namespace {

HeadWeights WeightsOf(const kernels::AttentionArgs& args, int64_t row) {
  const int64_t position = args.first_position + row / args.group;
  const kernels::PositionRange seen = kernels::VisibleRange(position, args);
  std::vector<float> weights(static_cast<size_t>(seen.end));
  kernels::AttentionWeights(args, row, weights);
  weights.erase(weights.begin(), weights.begin() + seen.begin);
  return {.position = position, .first_key = seen.begin, .weights = std::move(weights)};
}

}  // namespace

void AttentionTap::See(const StepPart& part, int64_t first_head,
                       const kernels::AttentionArgs& args) {
  for (int64_t row = 0; row < args.tokens * args.group; ++row) {
    HeadWeights weights = WeightsOf(args, row);
    weights.part = part;
    weights.head = first_head + row % args.group;
    const std::lock_guard lock(mutex_);
    seen_.push_back(std::move(weights));
  }
}

std::vector<HeadWeights> AttentionTap::Take() {
  const std::lock_guard lock(mutex_);
  std::vector<HeadWeights> taken = std::exchange(seen_, {});
  // Workers come in any order, and who reads wants the same file twice.
  const auto key = [](const HeadWeights& w) {
    return std::tuple(w.part.layer, w.part.kind, w.position, w.head);
  };
  std::ranges::sort(taken, {}, key);
  return taken;
}

}  // namespace skald::model
