// Gemma 4 (Gemma Team 2026): the dense 31B, the mixture 26B-A4B, and E2B and E4B, whose layers are
// told of the token itself and share keys and values.

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/gemma.h"
#include "model/families/mixture.h"

namespace skald::model {
namespace {

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

// The feed-forward of every layer, and a mixture beside it, whose router has a norm of its own.
Status AddMixture(const Keys& keys, Network* network) {
  Network mixtures = *network;
  RETURN_IF_ERROR(ReadMixture(keys, {}, &mixtures));
  const Norm& norm = network->head.norm;
  for (size_t i = 0; i < network->layers.size(); ++i) {
    auto* experts = std::get_if<Experts>(&mixtures.layers[i].feed_forward);
    if (experts == nullptr) continue;
    experts->function = Gate::kGelu;
    experts->router_norm = {
        .name = "ffn_gate_inp", .weight_suffix = ".scale", .epsilon = norm.epsilon};
    experts->score_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(network->width)));
    experts->output_scale = ExpertScale::kLearned;
    FeedForward& place = network->layers[i].feed_forward;
    place = GatedAndExperts{.gated = std::get<Gated>(place),
                            .gated_output_norm = norm,
                            .expert_norm = norm,
                            .experts = std::move(*experts),
                            .expert_output_norm = norm};
  }
  return Ok();
}

}  // namespace

// Layers that see a window have heads and a RoPE of their own; those that see all may take their
// keys for values.
Result<Network> Gemma4(const Keys& keys) {
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
  constexpr std::string_view kShared = "attention.shared_kv_layers";
  ASSIGN_OR_RETURN(const int64_t shared, keys.SizeOr(kShared, 0));
  const auto layers = static_cast<int64_t>(windows.size());
  RETURN_IF_ERROR(InRange(keys.Spelled(kShared), shared, 0, layers - 1));
  RETURN_IF_ERROR(ShareKeysAndValues(windows, shared, &network));
  RETURN_IF_ERROR(ReadLayerInputs(keys, &network));
  ASSIGN_OR_RETURN(const int64_t experts, keys.SizeOr("expert_count", 0));
  if (experts > 0) RETURN_IF_ERROR(AddMixture(keys, &network));
  return network;
}

}  // namespace skald::model
