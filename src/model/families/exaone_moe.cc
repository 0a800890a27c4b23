// K-EXAONE: windows and RoPE in three of four layers, all positions and none turned in the fourth;
// DeepSeek-V3's mixture (LG AI Research 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> ExaoneMoe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) std::get<Gqa>(layer.mixer).head_norm = HeadNorm::kRms;
  for (size_t i = 3; i < network.layers.size(); i += 4) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.window = 0;
    gqa.rope.reset();
  }
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
