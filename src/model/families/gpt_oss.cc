// gpt-oss, 20B and 120B: every second layer sees a window, each head has a sink, everything has a
// bias, and all feed-forwards are mixtures with a clamped SwiGLU (OpenAI 2025).

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {

Result<Network> GptOss(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(
      ReadMixture(keys, {.weights = kernels::RouteWeights::kSoftmaxOfChosen}, &network));
  // The published ramp is not rounded to whole pairs; no key says so (docs/conventions.md, A1).
  if (keys.conventions() == Conventions::kPublisher) network.ropes[0].ramp = YarnRamp::kExact;
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 2));
  for (size_t i = 0; i < windows.size(); ++i) {
    Layer& layer = network.layers[i];
    layer.feed_forward_norm.name = "post_attention_norm";
    auto& gqa = std::get<Gqa>(layer.mixer);
    gqa.bias = Presence::kRequired;
    gqa.sinks = Sinks::kOnePerHead;
    if (!windows[i]) gqa.window = 0;
    auto* experts = std::get_if<Experts>(&layer.feed_forward);
    if (experts == nullptr) continue;
    experts->function = Gate::kClampedSilu;
    experts->biases = Biases::kOfAll;
  }
  return network;
}

}  // namespace skald::model
