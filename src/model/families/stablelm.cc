// StableLM 2 and 3B: LayerNorm; in some of them (12B) both blocks read the same norm (Bellagente et
// al. 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> StableLm(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network,
                   ReadDecoder(keys, kernels::RopePairing::kHalves, NormKind::kLayer));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  ASSIGN_OR_RETURN(const bool parallel, keys.FlagOr("use_parallel_residual", false));
  if (parallel) MakeParallel(&network);
  AddNormsOfEachHead(keys, &network);
  return network;
}

}  // namespace skald::model
