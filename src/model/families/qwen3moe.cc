// Qwen3 mixtures, 30B-A3B and 235B-A22B: Qwen3 with experts in every layer (Yang et al. 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Qwen3Moe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) std::get<Gqa>(layer.mixer).head_norm = HeadNorm::kRms;
  RETURN_IF_ERROR(ReadMixture(keys, {}, &network));
  return network;
}

}  // namespace skald::model
