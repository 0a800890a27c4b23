// Qwen3: no biases, but RMSNorm of each query and key head (Yang et al. 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/ranking.h"

namespace skald::model {

Result<Network> Qwen3(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) std::get<Gqa>(layer.mixer).head_norm = HeadNorm::kRms;
  RETURN_IF_ERROR(ReadGated(keys, &network));
  RETURN_IF_ERROR(ReadRankHead(keys, {.pooling = Pooling::kLast}, &network));
  return network;
}

}  // namespace skald::model
