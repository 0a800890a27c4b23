// Qwen3.5 and 3.6, dense: three gated delta nets to each layer of gated attention (Qwen Team 2026).
// Value head h has key head h mod key heads: the converter has put them in that order.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/delta_hybrid.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Qwen35(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDeltaHybrid(keys, {.order = KeyHeadOrder::kModulo}));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
