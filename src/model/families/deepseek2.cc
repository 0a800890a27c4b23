// DeepSeek V2 (2024) to V3.1, Kimi K2 and Mistral Large 3, which share an architecture, and Mistral
// Small 4, which differs in YaRN: latent attention and mixtures of small experts with a shared one.
// V2 chooses by shares of all experts, the later ones by sigmoids with a bias.

#include <string>

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/latent.h"
#include "model/families/mixture.h"

namespace skald::model {
namespace {

// Which function files mean that name none: none has a bias of the choice but with sigmoids.
kernels::RouteWeights UsualWeights(const Keys& keys, const Network& network) {
  for (size_t i = 0; i < network.layers.size(); ++i) {
    if (keys.ContainsTensor("blk." + std::to_string(i) + ".exp_probs_b.bias")) {
      return kernels::RouteWeights::kSigmoid;
    }
  }
  return kernels::RouteWeights::kSoftmax;
}

Result<Network> ReadLatentMixture(const Keys& keys, LatentMagnitude magnitude) {
  ASSIGN_OR_RETURN(Network network, ReadLatentDecoder(keys, magnitude));
  RETURN_IF_ERROR(ReadMixture(keys,
                              {.weights = UsualWeights(keys, network),
                               .sum = kernels::RouteSum::kAsItIs,
                               .choice_bias_name = "exp_probs_b.bias"},
                              &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace

Result<Network> DeepSeek2(const Keys& keys) {
  return ReadLatentMixture(keys, LatentMagnitude::kSame);
}

Result<Network> Mistral4(const Keys& keys) {
  return ReadLatentMixture(keys, LatentMagnitude::kOne);
}

}  // namespace skald::model
