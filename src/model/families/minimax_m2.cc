// MiniMax-M2: norms of whole rows of Q and K, partial RoPE, DeepSeek-V3's routing without a shared
// expert (MiniMax 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> MiniMaxM2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) {
    std::get<Gqa>(layer.mixer).head_norm = HeadNorm::kRmsOfRow;
  }
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  return network;
}

}  // namespace skald::model
