// MiMo-V2-Flash (Xiaomi 2025): layers with windows have KV heads, a RoPE base and sinks of their
// own; values are scaled; DeepSeek-V3's mixture without a shared expert where a layer has a router.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Mimo2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadMixture(keys,
                              {.weights = kernels::RouteWeights::kSigmoid,
                               .choice_bias_name = "exp_probs_b.bias",
                               .layers = MixtureLayers::kByRouters},
                              &network));
  ASSIGN_OR_RETURN(const double value_scale, keys.NumberOr("attention.value_scale", 1));
  RETURN_IF_ERROR(AddNearRope(keys, &network));
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 1));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.value_scale = static_cast<float>(value_scale);
    if (windows[i]) {
      gqa.rope = 1;
      gqa.sinks = Sinks::kOnePerHead;
    } else {
      gqa.window = 0;
    }
  }
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
