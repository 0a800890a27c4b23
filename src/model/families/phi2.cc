// Phi-1, 1.5 and 2: one LayerNorm for both blocks, biases everywhere, a feed-forward without a gate
// (Javaheripi et al. 2023).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Phi2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network,
                   ReadDecoder(keys, kernels::RopePairing::kHalves, NormKind::kLayer));
  RETURN_IF_ERROR(ReadPlain(keys, &network));
  MakeParallel(&network);
  return network;
}

}  // namespace skald::model
