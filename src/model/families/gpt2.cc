// GPT-2 (Radford et al. 2019): learned positions, LayerNorm, biases everywhere, a feed-forward
// without a gate.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Gpt2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network,
                   ReadDecoder(keys, kernels::RopePairing::kHalves, NormKind::kLayer));
  RETURN_IF_ERROR(ReadPlain(keys, &network));
  network.positions = Positions::kLearned;
  for (Layer& layer : network.layers) {
    auto& gqa = std::get<Gqa>(layer.mixer);
    gqa.rope.reset();
    gqa.fusion = Fusion::kFused;
  }
  network.ropes.clear();
  return network;
}

}  // namespace skald::model
