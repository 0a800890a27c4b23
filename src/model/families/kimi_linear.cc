// Kimi Linear: Kimi delta attention, and every so many layers latent attention that positions do
// not turn; DeepSeek-V3's mixture without groups (Kimi Team 2025).

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/blocks/kda/kda.h"
#include "model/checks.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/latent.h"
#include "model/families/mixture.h"

namespace skald::model {
namespace {

Result<Kda> ReadKda(const Keys& keys, const Network& network) {
  Kda kda = {.width = network.width, .norm_epsilon = network.head.norm.epsilon};
  ASSIGN_OR_RETURN(kda.head_dim, keys.Size("kda.head_dim"));
  ASSIGN_OR_RETURN(kda.taps, keys.Size("ssm.conv_kernel"));
  return kda;
}

}  // namespace

Result<Network> KimiLinear(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  ASSIGN_OR_RETURN(Mla mla, ReadLatentAttention(keys, LatentMagnitude::kSame, &network));
  mla.rope.reset();
  network.ropes.clear();
  ASSIGN_OR_RETURN(Kda kda, ReadKda(keys, network));
  // The file gives layers without latent attention no KV heads.
  for (Layer& layer : network.layers) {
    const Gqa gqa = std::get<Gqa>(layer.mixer);
    mla.heads = kda.heads = gqa.heads;
    if (gqa.kv_heads == 0) {
      layer.mixer = kda;
    } else {
      layer.mixer = mla;
    }
  }
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
