// Phi-3, Phi-3.5 and Phi-4-mini: llama with fused tensors, and a factor for each frequency, of
// which there is a set for short and one for long contexts (Abdin et al. 2024; LongRoPE, Ding et
// al. 2024).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"

namespace skald::model {

Result<Network> Phi3(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  Rope& rope = network.ropes[0];
  ASSIGN_OR_RETURN(rope.original_context,
                   keys.SizeOr("rope.scaling.original_context_length", network.context));
  rope.factors_name = "rope_factors_short.weight";
  rope.long_factors_name = "rope_factors_long.weight";
  // Some files give the whole context as a window; llama.cpp takes none (docs/conventions.md, A5).
  const bool published = keys.conventions() == Conventions::kPublisher;
  for (Layer& layer : network.layers) {
    auto& gqa = std::get<Gqa>(layer.mixer);
    gqa.fusion = Fusion::kFused;
    if (!published || gqa.window >= network.context) gqa.window = 0;
    std::get<Gated>(layer.feed_forward).fusion = Fusion::kFused;
  }
  return network;
}

}  // namespace skald::model
