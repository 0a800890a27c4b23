// Mamba-2: state spaces alone, without feed-forwards (Dao & Gu 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/state_space.h"

namespace skald::model {

Result<Network> PureMamba2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadFrame(keys));
  ASSIGN_OR_RETURN(const Mamba2 mamba, ReadMamba2(keys, network));
  for (Layer& layer : network.layers) {
    layer.mixer = mamba;
    layer.feed_forward = None{};
    layer.feed_forward_norm.kind = NormKind::kNone;
  }
  return network;
}

}  // namespace skald::model
