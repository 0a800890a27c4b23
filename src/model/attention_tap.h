/// AttentionTap: the attention weights of each row and head, for tools that explain a run.
///
/// A block shows it what it has just given to the attention kernel; the weights are computed again
/// from that (kernels/attention/attention_weights.h) and kept until somebody takes them. The kernel
/// and its results are not touched. It takes memory in each step: no server has one.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "kernels/attention/attention.h"
#include "model/profile.h"

namespace skald::model {

/// Of one row and one query head.
struct HeadWeights {
  StepPart part = {};               ///< the mixer
  int64_t head = 0;                 ///< query head
  int64_t position = 0;             ///< of the row
  int64_t first_key = 0;            ///< position of weights[0]; none before it is seen
  std::vector<float> weights = {};  ///< by position; with a sink they add up to less than 1
};

class AttentionTap {
 public:
  /// Keeps the weights of all rows of `args`, whose first head is `first_head`. `args` as they were
  /// given to the kernel, whose scratch may be overwritten. Any worker, each with its own scratch.
  void See(const StepPart& part, int64_t first_head, const kernels::AttentionArgs& args);

  /// What was seen since the last call, by part, position and head. Any thread, while no step runs.
  std::vector<HeadWeights> Take();

 private:
  std::mutex mutex_;
  std::vector<HeadWeights> seen_;  // guarded by mutex_
};

}  // namespace skald::model
