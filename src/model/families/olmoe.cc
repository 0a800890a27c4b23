// OLMoE: norms of whole rows of Q and K; weights that are shares of all experts (Muennighoff et al.
// 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> OlMoE(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) {
    std::get<Gqa>(layer.mixer).head_norm = HeadNorm::kRmsOfRow;
  }
  RETURN_IF_ERROR(ReadMixture(
      keys, {.width_key = "feed_forward_length", .sum = kernels::RouteSum::kAsItIs}, &network));
  return network;
}

}  // namespace skald::model
