// Command-R and Command-R+ (`command-r`), Command R7B and Command A (`cohere2`): attention and
// feed-forward read the same LayerNorm (Cohere 2024). Of the latter's layers every fourth sees all
// and turns nothing.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

namespace {

Result<Network> ReadCohere(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network,
                   ReadDecoder(keys, kernels::RopePairing::kAdjacent, NormKind::kLayer));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  MakeParallel(&network);
  AddNormsOfEachHead(keys, &network);
  ASSIGN_OR_RETURN(const double scale, keys.NumberOr("logit_scale", 1));
  network.head.scale = static_cast<float>(scale);
  return network;
}

}  // namespace

Result<Network> CommandR(const Keys& keys) { return ReadCohere(keys); }

Result<Network> Cohere2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadCohere(keys));
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 4));
  SeeAllUnturned(windows, &network);
  return network;
}

}  // namespace skald::model
