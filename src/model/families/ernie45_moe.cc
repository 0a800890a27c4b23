// ERNIE 4.5 mixtures, 21B-A3B and 300B-A47B: llama with softmax routing whose choice alone has a
// bias (Baidu 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> Ernie45Moe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadMixture(keys, {.choice_bias_name = "exp_probs_b.bias"}, &network));
  return network;
}

}  // namespace skald::model
