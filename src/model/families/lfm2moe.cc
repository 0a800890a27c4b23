// LFM2 mixtures: LFM2 with experts behind the first layers, chosen by sigmoids and a bias (Liquid
// AI 2025).

#include "base/status_macros.h"
#include "model/families/families.h"
#include "model/families/lfm2.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Lfm2Moe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadLfm2(keys));
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  return network;
}

}  // namespace skald::model
