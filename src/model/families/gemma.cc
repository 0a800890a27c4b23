// Gemma 2 (Gemma Team 2024) and Gemma 3 (Gemma Team 2025).

#include "model/families/gemma.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "model/checks.h"
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

Result<std::vector<bool>> ReadGemma3Layers(const Keys& keys, int64_t period, Network* network) {
  ASSIGN_OR_RETURN(std::vector<bool> windows, ReadWindowPattern(keys, *network, period));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network->layers[i].mixer);
    gqa.head_norm = HeadNorm::kRms;
    if (windows[i]) gqa.rope = 1;
    if (!windows[i]) gqa.window = 0;
  }
  return windows;
}

Status ShareKeysAndValues(const std::vector<bool>& windows, int64_t shared, Network* network) {
  const auto layers = static_cast<int64_t>(windows.size());
  for (int64_t i = layers - shared; i < layers; ++i) {
    const bool window = windows[static_cast<size_t>(i)];
    int64_t owner = layers - shared - 1;
    while (owner >= 0 && windows[static_cast<size_t>(owner)] != window) --owner;
    if (owner < 0) {
      return Status(ErrorCode::kBadModel, "layer " + std::to_string(i) +
                                              " shares keys and values, found no layer of its kind "
                                              "before the " +
                                              std::to_string(shared) + " that share");
    }
    auto& gqa = std::get<Gqa>(network->layers[static_cast<size_t>(i)].mixer);
    gqa.shared_kv = owner;  // all layers before have keys and values
    gqa.values = ValueSource::kMatrix;
  }
  return Ok();
}

Status ReadLayerInputs(const Keys& keys, Network* network) {
  constexpr std::string_view kKey = "embedding_length_per_layer_input";
  ASSIGN_OR_RETURN(const int64_t inner, keys.SizeOr(kKey, 0));
  RETURN_IF_ERROR(InRange(keys.Spelled(kKey), inner, 0, kMaxWidth));
  if (inner == 0) return Ok();
  const Norm& norm = network->head.norm;
  network->layer_inputs = {.vocab = network->vocab,
                           .width = network->width,
                           .inner = inner,
                           .layers = static_cast<int64_t>(network->layers.size()),
                           .norm = norm};
  int64_t first = 0;
  for (Layer& layer : network->layers) {
    layer.input = LayerInput{.width = network->width, .inner = inner, .first = first};
    layer.input_output_norm = norm;
    first += inner;
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
  RETURN_IF_ERROR(ReadGemma3Layers(keys, 6, &network).status());
  ScaleByShareOfWidth(&network, 62);
  return network;
}

}  // namespace skald::model
