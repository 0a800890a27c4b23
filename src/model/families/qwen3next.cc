// Qwen3-Next: a mixture whose layers are gated delta nets, three to each layer of gated attention
// (Qwen Team 2025). Value heads stand as they were published: neighbours share a key head.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/delta_hybrid.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Qwen3Next(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDeltaHybrid(keys, {.order = KeyHeadOrder::kNeighbours,
                                                           .gates = Fusion::kFused}));
  // Older files have queries, keys, values and z in one tensor.
  if (keys.ContainsTensor("blk.0.ssm_in.weight")) {
    for (Layer& layer : network.layers) {
      auto* net = std::get_if<DeltaNet>(&layer.mixer);
      if (net != nullptr) net->projections = Fusion::kFused;
    }
  }
  RETURN_IF_ERROR(ReadMixture(keys, {.shared_weight = SharedWeight::kSigmoid}, &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
