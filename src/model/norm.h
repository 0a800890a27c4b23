/// Norm: an RMSNorm of the residual stream (numerics 3.1).
#pragma once

#include <vector>

namespace skald::model {

struct Norm {
  float epsilon = 0;
  std::vector<float> weight = {};
};

}  // namespace skald::model
