// InternLM2: llama (Cai et al. 2024), whose converter splits the fused matrix of Q, K and V.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> InternLm2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  return network;
}

}  // namespace skald::model
