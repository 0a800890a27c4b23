// Ling and Ring 2: fused Q, K and V, norms of each head, partial RoPE, DeepSeek-V3's mixture
// (Ling Team, Ant Group 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> BailingMoe2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) {
    auto& gqa = std::get<Gqa>(layer.mixer);
    gqa.head_norm = HeadNorm::kRms;
    gqa.fusion = Fusion::kFused;
  }
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
