// Step 3.5 Flash (StepFun 2026): a gate for each head; layers with windows have heads and a RoPE of
// their own, those that see all turn half as many elements; limited SwiGLU in some layers.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {
namespace {

// A limit for each layer; 0: none. Files may lack it.
Result<std::vector<double>> ReadLimits(const Keys& keys, std::string_view name, size_t layers) {
  if (!keys.Contains(name)) return std::vector<double>(layers, 0.0);
  return keys.LayerNumbers(name, static_cast<int64_t>(layers));
}

Status LimitGates(const Keys& keys, Network* network) {
  const size_t layers = network->layers.size();
  ASSIGN_OR_RETURN(const auto experts, ReadLimits(keys, "swiglu_clamp_exp", layers));
  ASSIGN_OR_RETURN(const auto shared, ReadLimits(keys, "swiglu_clamp_shexp", layers));
  for (size_t i = 0; i < layers; ++i) {
    FeedForward& block = network->layers[i].feed_forward;
    if (auto* mixture = std::get_if<Experts>(&block)) {
      mixture->limit = static_cast<float>(experts[i]);
      mixture->shared.limit = static_cast<float>(shared[i]);
    } else {
      std::get<Gated>(block).limit = static_cast<float>(shared[i]);
    }
  }
  return Ok();
}

}  // namespace

Result<Network> Step35(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadMixture(keys,
                              {.weights = kernels::RouteWeights::kSigmoid,
                               .choice_bias_name = "exp_probs_b.bias",
                               .layers = MixtureLayers::kByRouters},
                              &network));
  RETURN_IF_ERROR(LimitGates(keys, &network));
  RETURN_IF_ERROR(AddNearRope(keys, &network));
  Rope& far = network.ropes[0];
  far.unused_factors = far.rotated / 4;
  far.rotated /= 2;
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 4));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.head_norm = HeadNorm::kRms;
    gqa.output_gate = OutputGate::kSigmoidOfHeads;
    if (windows[i]) gqa.rope = 1;
    if (!windows[i]) gqa.window = 0;
  }
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  return network;
}

}  // namespace skald::model
