// Qwen2 mixtures, Qwen1.5-MoE-A2.7B and Qwen2-57B-A14B: Qwen2's attention, weights that are shares
// of all experts, and a shared expert with a gate of its own (Yang et al. 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Qwen2Moe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) std::get<Gqa>(layer.mixer).bias = Presence::kRequired;
  RETURN_IF_ERROR(ReadMixture(
      keys, {.sum = kernels::RouteSum::kAsItIs, .shared_weight = SharedWeight::kSigmoid},
      &network));
  return network;
}

}  // namespace skald::model
