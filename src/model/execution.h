/// Execution: which kernels and threads a forward pass uses.
#pragma once

#include "base/thread_pool.h"
#include "kernels/kernels.h"

namespace skald::model {

/// Passed by reference down the blocks. Neither member changes any output bit.
struct Execution {
  const kernels::KernelTable& kernels;
  ThreadPool& pool;
};

}  // namespace skald::model
