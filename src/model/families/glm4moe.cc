// GLM-4.5, 4.5-Air, 4.6: DeepSeek-V3's mixture behind plain attention, in the large ones with norms
// of each head; the last block only predicts further tokens (Zeng et al. 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Glm4Moe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  const bool head_norms = keys.ContainsTensor("blk.0.attn_q_norm.weight");
  for (Layer& layer : network.layers) {
    if (head_norms) std::get<Gqa>(layer.mixer).head_norm = HeadNorm::kRms;
    layer.feed_forward_norm.name = "post_attention_norm";
  }
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
