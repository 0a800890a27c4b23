// DeepSeek V3.2 (2025) and GLM-5: V3's network, and in each layer an indexer that picks for each
// query the `top_k` positions that it sees. Up to so many positions it picks all of them, and the
// network is V3's, exactly. The indexer is not run: the context ends where it would leave out one.

#include <algorithm>

#include "base/status_macros.h"
#include "model/checks.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/latent.h"
#include "model/families/mixture.h"

namespace skald::model {
namespace {

Result<Network> ReadSparseLatent(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadLatentDecoder(keys, LatentMagnitude::kSame));
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  RETURN_IF_ERROR(DropPredictionLayers(keys, &network));
  constexpr std::string_view kPicked = "attention.indexer.top_k";
  ASSIGN_OR_RETURN(network.picked_positions, keys.Size(kPicked));
  RETURN_IF_ERROR(InRange(keys.Spelled(kPicked), network.picked_positions, 1, kMaxContext));
  // Last: YaRN is reckoned from the context that was trained.
  network.context = std::min(network.context, network.picked_positions);
  return network;
}

}  // namespace

Result<Network> DeepSeek32(const Keys& keys) { return ReadSparseLatent(keys); }
Result<Network> GlmDsa(const Keys& keys) { return ReadSparseLatent(keys); }

}  // namespace skald::model
