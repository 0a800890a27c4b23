// EXAONE 4 and K-EXAONE: norms of each query and key head.
// With windows (all but EXAONE 4 1.2B) every fourth layer sees all and turns nothing. Without them
// all layers turn (LG AI Research 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

namespace {

Result<Network> ReadExaone(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 4));
  const bool has_windows = std::get<Gqa>(network.layers.front().mixer).window > 0;
  if (has_windows) SeeAllUnturned(windows, &network);
  for (Layer& layer : network.layers) std::get<Gqa>(layer.mixer).head_norm = HeadNorm::kRms;
  return network;
}

}  // namespace

// Norms behind the blocks.
Result<Network> Exaone4(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadExaone(keys));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  MoveNormsBehind(&network);
  return network;
}

// DeepSeek-V3's mixture.
Result<Network> ExaoneMoe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadExaone(keys));
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
