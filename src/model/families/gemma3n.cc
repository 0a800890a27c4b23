// Gemma 3n E2B and E4B (Gemma Team 2025): several residual streams (AltUp), a residual of low rank
// beside attention (LAuReL), layers that are told of the token itself and share keys and values,
// and gates of which few are open.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/gemma.h"

namespace skald::model {
namespace {

// What files without keys have.
constexpr int64_t kStreams = 4;
constexpr int64_t kLaurelRank = 64;
constexpr int64_t kLayersOfTheirOwn = 20;
constexpr size_t kSparseLayers = 10;
constexpr double kSparsity = 1.6448533535003662;  // where a normal distribution has 95 % below

// Deviations above the mean from which a gate is open; negative infinity: all are.
Result<std::vector<double>> ReadSparsity(const Keys& keys, int64_t layers) {
  constexpr std::string_view kKey = "activation_sparsity_scale";
  if (keys.Contains(kKey)) return keys.LayerNumbers(kKey, layers);
  std::vector<double> sparsity(static_cast<size_t>(layers), -HUGE_VAL);
  for (size_t i = 0; i < kSparseLayers && i < sparsity.size(); ++i) sparsity[i] = kSparsity;
  return sparsity;
}

Status MakeSparse(const Keys& keys, double deviations, Gated* gated) {
  if (deviations == -HUGE_VAL) return Ok();
  RETURN_IF_ERROR(Positive(keys.Spelled("activation_sparsity_scale"), deviations));
  gated->sparsity = static_cast<float>(deviations);
  // The published code divides by all, llama.cpp by one less (docs/conventions.md).
  if (keys.conventions() == Conventions::kLlamaCpp) gated->spread = Spread::kOfOneLess;
  return Ok();
}

Status ReadStreams(const Keys& keys, Network* network) {
  ASSIGN_OR_RETURN(const int64_t streams, keys.SizeOr("altup.num_inputs", kStreams));
  RETURN_IF_ERROR(InRange(keys.Spelled("altup.num_inputs"), streams, 2, kMaxStreams));
  ASSIGN_OR_RETURN(const int64_t active, keys.SizeOr("altup.active_idx", 0));
  if (active != 0) {
    return Status(ErrorCode::kUnsupported, keys.Spelled("altup.active_idx") + " is " +
                                               std::to_string(active) + ", expected 0");
  }
  const Norm& norm = network->head.norm;
  network->streams = {.width = network->width, .count = streams};
  for (Layer& layer : network->layers) {
    layer.alt_up = AltUp{.width = network->width, .streams = streams, .router_norm = norm};
    layer.laurel = Laurel{.width = network->width, .rank = kLaurelRank, .norm = norm};
  }
  return Ok();
}

}  // namespace

Result<Network> Gemma3n(const Keys& keys) {
  RETURN_IF_ERROR(RefuseMixture(keys));
  ASSIGN_OR_RETURN(Network network, ReadGemma(keys));
  const auto layers = static_cast<int64_t>(network.layers.size());
  ASSIGN_OR_RETURN(const double cap, keys.NumberOr("final_logit_softcapping", 30));
  network.head.soft_cap = static_cast<float>(cap);
  RETURN_IF_ERROR(AddNearRope(keys, &network));
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadGemma3Layers(keys, 5, &network));
  ASSIGN_OR_RETURN(const std::vector<double> sparsity, ReadSparsity(keys, layers));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.value_norm = ValueNorm::kRms;
    gqa.scale = 1;
    auto& gated = std::get<Gated>(network.layers[i].feed_forward);
    RETURN_IF_ERROR(MakeSparse(keys, sparsity[i], &gated));
  }
  constexpr std::string_view kShared = "attention.shared_kv_layers";
  const int64_t beyond = std::max<int64_t>(0, layers - kLayersOfTheirOwn);
  ASSIGN_OR_RETURN(const int64_t shared, keys.SizeOr(kShared, beyond));
  RETURN_IF_ERROR(InRange(keys.Spelled(kShared), shared, 0, layers - 1));
  RETURN_IF_ERROR(ShareKeysAndValues(windows, shared, &network));
  RETURN_IF_ERROR(ReadLayerInputs(keys, &network));
  RETURN_IF_ERROR(InRange(keys.Spelled("embedding_length_per_layer_input"),
                          network.layer_inputs.inner, 1, kMaxWidth));
  RETURN_IF_ERROR(ReadStreams(keys, &network));
  return network;
}

}  // namespace skald::model
