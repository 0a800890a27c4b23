// DeepSeek-MoE, the first one: llama whose layers behind the first are mixtures of small experts
// with a shared one (Dai et al. 2024). Weights are shares of all experts.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> DeepSeek(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadMixture(keys, {.sum = kernels::RouteSum::kAsItIs}, &network));
  return network;
}

}  // namespace skald::model
