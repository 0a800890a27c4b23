// OLMo 2 and 3: norms behind the blocks only, and of whole rows of Q and K (OLMo Team 2024). OLMo 3
// adds windows, whose layers turn by the frequencies of the trained context, unscaled.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Olmo2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  MoveNormsBehind(&network);
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 4));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.head_norm = HeadNorm::kRmsOfRow;
    if (gqa.window == 0 || !windows[i]) {
      gqa.window = 0;
      continue;
    }
    if (network.ropes.size() == 1) {
      network.ropes.push_back(network.ropes[0]);
      network.ropes[1].scaling = RopeScaling::kNone;
    }
    gqa.rope = 1;
  }
  return network;
}

}  // namespace skald::model
