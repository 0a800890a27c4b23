// LFM2: short convolutions, and grouped-query attention with head norms where a layer has KV heads
// (Liquid AI 2025). What the file calls the norm of the embedding comes at the end.

#include "model/families/lfm2.h"

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> ReadLfm2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  ASSIGN_OR_RETURN(const int64_t taps, keys.Size("shortconv.l_cache"));
  for (Layer& layer : network.layers) {
    auto& gqa = std::get<Gqa>(layer.mixer);
    gqa.head_norm = HeadNorm::kRms;
    if (gqa.kv_heads == 0) layer.mixer = ShortConv{.width = network.width, .taps = taps};
  }
  network.head.norm.name = "token_embd_norm";
  return network;
}

Result<Network> Lfm2(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadLfm2(keys));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  return network;
}

}  // namespace skald::model
