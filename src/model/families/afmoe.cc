// Trinity (Arcee 2025): gated attention with head norms, three of four layers with a window and
// RoPE, norms before and behind the blocks, a scaled embedding, DeepSeek-V3's mixture.

#include <cmath>

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> AfMoe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  network.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(network.width)));
  AddNormsBehind(&network);
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 4));
  SeeAllUnturned(windows, &network);
  for (Layer& layer : network.layers) {
    auto& gqa = std::get<Gqa>(layer.mixer);
    gqa.head_norm = HeadNorm::kRms;
    gqa.output_gate = OutputGate::kSigmoidOfMatrix;
  }
  return network;
}

}  // namespace skald::model
