// EXAONE 4: norms behind the blocks, and of each query and key head (LG AI Research 2025). With
// windows (32B) every fourth layer sees all and turns nothing; without (1.2B) all layers turn.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Exaone4(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  MoveNormsBehind(&network);
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 4));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.head_norm = HeadNorm::kRms;
    if (gqa.window == 0 || windows[i]) continue;
    gqa.window = 0;
    gqa.rope.reset();
  }
  return network;
}

}  // namespace skald::model
