// Hunyuan 3: Qwen3's attention and DeepSeek-V3's mixture; no key says which layers are dense
// (Tencent 2026).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> HyV3(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) std::get<Gqa>(layer.mixer).head_norm = HeadNorm::kRms;
  RETURN_IF_ERROR(ReadMixture(keys,
                              {.weights = kernels::RouteWeights::kSigmoid,
                               .choice_bias_name = "exp_probs_b",
                               .layers = MixtureLayers::kByRouters},
                              &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
