// Granite 4.0 H: Granite's factors around Mamba-2, and attention where a layer has KV heads; dense
// or a mixture (Granite Team, IBM 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"
#include "model/families/state_space.h"

namespace skald::model {

Result<Network> GraniteHybrid(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  ASSIGN_OR_RETURN(const Mamba2 mamba, ReadMamba2(keys, network));
  for (Layer& layer : network.layers) {
    if (std::get<Gqa>(layer.mixer).kv_heads == 0) layer.mixer = mamba;
  }
  RETURN_IF_ERROR(ReadMixtureOrGated(keys, {.width_key = "feed_forward_length"}, &network));
  RETURN_IF_ERROR(ReadGraniteFactors(keys, &network));
  return network;
}

}  // namespace skald::model
