// Granite 3 and 4, dense: llama with factors on the embedding, the scores, what a block adds, and
// the logits (Granite Team, IBM 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Granite(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  RETURN_IF_ERROR(ReadGraniteFactors(keys, &network));
  return network;
}

}  // namespace skald::model
