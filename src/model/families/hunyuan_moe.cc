// Hunyuan-A13B: each head normed behind RoPE, a shared expert (Tencent 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> HunyuanMoe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  for (Layer& layer : network.layers) {
    auto& gqa = std::get<Gqa>(layer.mixer);
    gqa.head_norm = HeadNorm::kRms;
    gqa.head_norm_place = HeadNormPlace::kBehindRope;
  }
  RETURN_IF_ERROR(ReadMixture(keys, {.width_key = "feed_forward_length"}, &network));
  return network;
}

}  // namespace skald::model
