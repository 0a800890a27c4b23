/// Execution: which kernels and threads a forward pass uses.
#pragma once

#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "model/profile.h"
#include "ranks/exchange.h"

namespace skald::model {

/// Passed by reference down the blocks. No member changes any output bit.
struct Execution {
  const kernels::KernelTable& kernels;
  ThreadPool& pool;
  StepProfile* profile = nullptr;  ///< where the time went, added to; nullptr = not measured
  /// With the other ranks of a network that was split (split.h); nullptr: there are none.
  ranks::Exchange* exchange = nullptr;

  /// What the step shows itself to; nullptr: nobody looks.
  StepTap* tap() const { return profile == nullptr ? nullptr : profile->tap; }
};

}  // namespace skald::model
