// Seed-OSS: Qwen2's layers under another name of the second norm (ByteDance Seed 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> SeedOss(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  for (Layer& layer : network.layers) {
    std::get<Gqa>(layer.mixer).bias = Presence::kRequired;
    layer.feed_forward_norm.name = "post_attention_norm";
  }
  return network;
}

}  // namespace skald::model
