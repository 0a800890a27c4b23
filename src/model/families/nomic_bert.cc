// Nomic Embed Text 1 and 1.5 (Nussbaum et al. 2024), and 2, every second layer of which is a
// mixture (Nussbaum and Duderstadt 2025): BERT's network with RoPE.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/encoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> NomicBert(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadBert(keys));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  return network;
}

// Experts and dense layers have no gate.
Result<Network> NomicBertMoe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadBert(keys));
  RETURN_IF_ERROR(ReadMixture(keys,
                              {.width_key = "feed_forward_length",
                               .sum = kernels::RouteSum::kAsItIs,
                               .layers = MixtureLayers::kByRouters},
                              &network));
  for (Layer& layer : network.layers) {
    if (auto* experts = std::get_if<Experts>(&layer.feed_forward)) {
      experts->form = ExpertForm::kPlain;
      experts->activation = GeluOf(keys);
      continue;
    }
    const int64_t hidden = std::get<Gated>(layer.feed_forward).hidden;
    layer.feed_forward = Plain{.width = network.width, .hidden = hidden, .function = GeluOf(keys)};
  }
  return network;
}

}  // namespace skald::model
