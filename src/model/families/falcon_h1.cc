// Falcon-H1: attention and Mamba-2 side by side in every layer (Zuo et al. 2025). The published
// factors of embedding, keys and blocks are in the weights of the file.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/state_space.h"

namespace skald::model {

Result<Network> FalconH1(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  ASSIGN_OR_RETURN(Mamba2 mamba, ReadMamba2(keys, network));
  if (!keys.ContainsTensor("blk.0.ssm_norm.weight")) mamba.group_norm = GroupNorm::kNone;
  for (Layer& layer : network.layers) {
    layer.beside = mamba;
    layer.feed_forward_norm.weight_suffix = "";
  }
  return network;
}

}  // namespace skald::model
