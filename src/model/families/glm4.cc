// GLM-4-0414: norms before and behind the blocks, biases on Q, K and V, gate and up in one tensor
// (Zhipu AI 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Glm4(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  AddNormsBehind(&network);
  for (Layer& layer : network.layers) {
    std::get<Gqa>(layer.mixer).bias = Presence::kRequired;
    std::get<Gated>(layer.feed_forward).fusion = Fusion::kFused;
  }
  return network;
}

}  // namespace skald::model
