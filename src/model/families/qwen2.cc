// Qwen2 and Qwen2.5: biases on Q, K and V, RoPE over halves (Yang et al. 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Qwen2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) std::get<Gqa>(layer.mixer).bias = Presence::kRequired;
  RETURN_IF_ERROR(ReadGated(keys, &network));
  return network;
}

}  // namespace skald::model
