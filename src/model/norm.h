/// Norm: an RMSNorm of the residual stream (numerics 3.1).
#pragma once

#include <string_view>
#include <vector>

namespace skald::model {

struct Norm {
  std::string_view name = {};  ///< of its tensor, where a family does not call it as most do
  float epsilon = 0;
  std::vector<float> weight = {};
};

}  // namespace skald::model
