// Granite 3 and 4 mixtures: Granite's factors around experts of the width that others have once
// (Granite Team, IBM 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> GraniteMoe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadMixture(keys, {.width_key = "feed_forward_length"}, &network));
  RETURN_IF_ERROR(ReadGraniteFactors(keys, &network));
  return network;
}

}  // namespace skald::model
