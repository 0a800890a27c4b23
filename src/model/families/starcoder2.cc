// StarCoder2: LayerNorm, biases everywhere, a feed-forward without a gate (Lozhkov et al. 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> StarCoder2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network,
                   ReadDecoder(keys, kernels::RopePairing::kHalves, NormKind::kLayer));
  RETURN_IF_ERROR(ReadPlain(keys, &network));
  return network;
}

}  // namespace skald::model
