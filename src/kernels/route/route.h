/// Route: which experts a token goes to, and with what weight (numerics 3.10). Source: Shazeer et
/// al. 2017; softmax over all experts and the share of each among the chosen as in Mixtral (Jiang
/// et al. 2024).
///
/// One implementation for every instruction set: a row has some hundred scores, beside matrices of
/// millions of elements.
#pragma once

#include <cstdint>

namespace skald::kernels {

/// The scores of one token, and where the choice goes.
struct RouteArgs {
  const float* scores = nullptr;  ///< [experts]
  int64_t experts = 0;
  int64_t used = 0;           ///< 1 .. experts
  int32_t* chosen = nullptr;  ///< [used]: indices, ascending
  float* weights = nullptr;   ///< [used]: of the chosen, in their order; NaN if any score is NaN
};

/// Any thread; allocates nothing. Time: experts * used at worst, about experts as a rule.
void Route(const RouteArgs& args);

}  // namespace skald::kernels
