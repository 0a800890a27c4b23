// K-EXAONE: windows and RoPE in three of four layers, all positions and none turned in the fourth;
// DeepSeek-V3's mixture (LG AI Research 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> ExaoneMoe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 4));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.head_norm = HeadNorm::kRms;
    if (gqa.window == 0 || windows[i]) continue;
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
