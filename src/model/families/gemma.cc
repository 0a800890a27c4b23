// Gemma 2 (Gemma Team 2024) and Gemma 3 (Gemma Team 2025).

#include "model/families/gemma.h"

#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "tensor/half.h"

namespace skald::model {
namespace {

// The published code multiplies in the type of its weights: the root is rounded to bfloat16.
float EmbeddingScale(const Keys& keys, int64_t width) {
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(width)));
  if (keys.conventions() == Conventions::kLlamaCpp) return root;
  return tensor::FloatFromBf16(tensor::Bf16FromFloat(root));
}

// The largest of each scales its scores by the share of a head in the width (query_pre_attn_scalar
// of its configuration). No key says so: it is known by the number of its layers.
void ScaleByShareOfWidth(Network* network, size_t layers) {
  if (network->layers.size() != layers) return;
  for (Layer& layer : network->layers) {
    auto& gqa = std::get<Gqa>(layer.mixer);
    if (gqa.heads > 0) gqa.scale = DefaultAttentionScale(network->width / gqa.heads);
  }
}

}  // namespace

Result<Network> ReadGemma(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadDense(keys, &network));
  AddNormsBehind(&network);
  for (Layer& layer : network.layers) std::get<Gated>(layer.feed_forward).function = Gate::kGelu;
  network.embedding_scale = EmbeddingScale(keys, network.width);
  return network;
}

Status ReadGemma3Layers(const Keys& keys, Network* network) {
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, *network, 6));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network->layers[i].mixer);
    gqa.head_norm = HeadNorm::kRms;
    if (windows[i]) gqa.rope = 1;
    if (!windows[i]) gqa.window = 0;
  }
  return Ok();
}

// Every second layer sees a window; scores and logits are softly capped.
Result<Network> Gemma2(const Keys& keys) {
  RETURN_IF_ERROR(RefuseMixture(keys));
  ASSIGN_OR_RETURN(Network network, ReadGemma(keys));
  ASSIGN_OR_RETURN(const double scores, keys.NumberOr("attn_logit_softcapping", 50));
  ASSIGN_OR_RETURN(const double logits, keys.NumberOr("final_logit_softcapping", 30));
  network.head.soft_cap = static_cast<float>(logits);
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 2));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.soft_cap = static_cast<float>(scores);
    if (!windows[i]) gqa.window = 0;
  }
  ScaleByShareOfWidth(&network, 46);
  return network;
}

// Five layers of six see a window and turn by a base of their own, unscaled; queries and keys are
// normed.
Result<Network> Gemma3(const Keys& keys) {
  RETURN_IF_ERROR(RefuseMixture(keys));
  ASSIGN_OR_RETURN(Network network, ReadGemma(keys));
  Rope near = network.ropes[0];
  ASSIGN_OR_RETURN(near.base, keys.NumberOr("rope.freq_base_swa", 10000));
  near.scaling = RopeScaling::kNone;
  network.ropes.push_back(std::move(near));
  ASSIGN_OR_RETURN(const double cap, keys.NumberOr("final_logit_softcapping", 0));
  network.head.soft_cap = static_cast<float>(cap);
  RETURN_IF_ERROR(ReadGemma3Layers(keys, &network));
  ScaleByShareOfWidth(&network, 62);
  return network;
}

}  // namespace skald::model
