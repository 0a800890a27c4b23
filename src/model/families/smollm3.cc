// SmolLM3: llama, but every fourth layer turns nothing (NoPE, Kazemnejad et al. 2023; Yang et al.
// 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> SmolLm3(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  for (size_t i = 3; i < network.layers.size(); i += 4) {
    std::get<Gqa>(network.layers[i].mixer).rope.reset();
  }
  return network;
}

}  // namespace skald::model
