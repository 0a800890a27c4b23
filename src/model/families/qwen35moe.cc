// Qwen3.5 and 3.6, mixtures: the layers of the dense ones, with experts and a shared expert that
// has a gate of its own (Qwen Team 2026).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/delta_hybrid.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Qwen35Moe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDeltaHybrid(keys, {.order = KeyHeadOrder::kModulo}));
  RETURN_IF_ERROR(ReadMixture(keys, {.shared_weight = SharedWeight::kSigmoid}, &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
