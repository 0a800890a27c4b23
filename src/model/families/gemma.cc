// Gemma 2 (Gemma Team 2024), Gemma 3 (Gemma Team 2025) and the dense Gemma 4 (31B, 2026).

#include <cmath>
#include <string>

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

// What both have in common: RMSNorm before and behind both blocks, GeGLU, a scaled embedding.
Result<Network> ReadGemma(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadGated(keys, &network));
  AddNormsBehind(&network);
  for (Layer& layer : network.layers) std::get<Gated>(layer.feed_forward).function = Gate::kGelu;
  network.embedding_scale = EmbeddingScale(keys, network.width);
  return network;
}

}  // namespace

// Every second layer sees a window; scores and logits are softly capped.
Result<Network> Gemma2(const Keys& keys) {
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
  ASSIGN_OR_RETURN(Network network, ReadGemma(keys));
  Rope near = network.ropes[0];
  ASSIGN_OR_RETURN(near.base, keys.NumberOr("rope.freq_base_swa", 10000));
  near.scaling = RopeScaling::kNone;
  network.ropes.push_back(std::move(near));
  ASSIGN_OR_RETURN(const double cap, keys.NumberOr("final_logit_softcapping", 0));
  network.head.soft_cap = static_cast<float>(cap);
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 6));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.head_norm = HeadNorm::kRms;
    if (windows[i]) gqa.rope = 1;
    if (!windows[i]) gqa.window = 0;
  }
  ScaleByShareOfWidth(&network, 62);
  return network;
}

namespace {

// What the small ones and the mixture of Gemma 4 have beyond the dense one.
Status RefuseWhatNoBlockDoes(const Keys& keys) {
  for (const char* key : {"embedding_length_per_layer_input", "attention.shared_kv_layers"}) {
    ASSIGN_OR_RETURN(const int64_t value, keys.SizeOr(key, 0));
    if (value == 0) continue;
    return Status(ErrorCode::kUnsupported, "key '" + keys.Spelled(key) + "' is " +
                                               std::to_string(value) +
                                               "; this version runs Gemma 4 where it is 0 (31B)");
  }
  return Ok();
}

// The shape of a layer that sees a window.
struct NearHeads {
  int64_t key_dim;
  int64_t value_dim;
};

void ReadGemma4Layer(const Keys& keys, size_t index, Layer* layer) {
  const std::string block = "blk." + std::to_string(index) + ".";
  auto& gqa = std::get<Gqa>(layer->mixer);
  gqa.head_norm = HeadNorm::kRms;
  gqa.value_norm = ValueNorm::kRms;
  gqa.scale = 1;
  if (!keys.ContainsTensor(block + "attn_v.weight")) gqa.values = ValueSource::kKeys;
  if (keys.ContainsTensor(block + "layer_output_scale.weight")) layer->scale = LayerScale::kLearned;
}

}  // namespace

// Layers that see a window have heads and a RoPE of their own; those that see all may take their
// keys for values.
Result<Network> Gemma4(const Keys& keys) {
  RETURN_IF_ERROR(RefuseWhatNoBlockDoes(keys));
  ASSIGN_OR_RETURN(Network network, ReadGemma(keys));
  ASSIGN_OR_RETURN(const double cap, keys.NumberOr("final_logit_softcapping", 0));
  network.head.soft_cap = static_cast<float>(cap);
  const auto& first = std::get<Gqa>(network.layers.front().mixer);
  NearHeads near_heads = {};
  ASSIGN_OR_RETURN(near_heads.key_dim, keys.SizeOr("attention.key_length_swa", first.key_dim));
  ASSIGN_OR_RETURN(near_heads.value_dim,
                   keys.SizeOr("attention.value_length_swa", first.value_dim));
  Rope near = network.ropes[0];
  ASSIGN_OR_RETURN(near.base, keys.NumberOr("rope.freq_base_swa", 10000));
  ASSIGN_OR_RETURN(near.rotated, keys.SizeOr("rope.dimension_count_swa", near_heads.key_dim));
  near.scaling = RopeScaling::kNone;
  near.factors_name = {};
  network.ropes.push_back(std::move(near));
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindowPattern(keys, network, 6));
  for (size_t i = 0; i < windows.size(); ++i) {
    ReadGemma4Layer(keys, i, &network.layers[i]);
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    if (windows[i]) {
      gqa.key_dim = near_heads.key_dim;
      gqa.value_dim = near_heads.value_dim;
      gqa.rope = 1;
    } else {
      gqa.window = 0;
    }
  }
  return network;
}

}  // namespace skald::model
