// Nemotron-H and Nemotron 3: each layer is one block, a state space, attention that turns nothing,
// or a feed-forward with squared ReLU (NVIDIA 2025). In the latter it is a mixture, whose experts
// may work on a narrower row.

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"
#include "model/families/state_space.h"

namespace skald::model {
namespace {

constexpr std::string_view kFeedForwardLength = "feed_forward_length";

// What a layer with a feed-forward has of a block: nothing else.
Status KeepFeedForward(size_t index, Layer* layer) {
  const int64_t kv_heads = std::get<Gqa>(layer->mixer).kv_heads;
  if (kv_heads != 0) {
    return Status(ErrorCode::kBadModel, "layer " + std::to_string(index) + " has " +
                                            std::to_string(kv_heads) +
                                            " KV heads and a feed-forward, expected one of both");
  }
  layer->mixer = None{};
  layer->mixer_norm.kind = NormKind::kNone;
  layer->feed_forward_norm.name = "attn_norm";
  return Ok();
}

// Of layers that have all three blocks, leaves each the one that it has in the file.
Status KeepOneBlock(const Keys& keys, Network* network) {
  ASSIGN_OR_RETURN(const Mamba2 mamba, ReadMamba2(keys, *network));
  const auto layers = static_cast<int64_t>(network->layers.size());
  ASSIGN_OR_RETURN(const std::vector<int64_t> hidden, keys.LayerSizes(kFeedForwardLength, layers));
  for (size_t i = 0; i < hidden.size(); ++i) {
    Layer& layer = network->layers[i];
    if (hidden[i] > 0) {
      RETURN_IF_ERROR(KeepFeedForward(i, &layer));
      continue;
    }
    layer.feed_forward = None{};
    layer.feed_forward_norm.kind = NormKind::kNone;
    auto& gqa = std::get<Gqa>(layer.mixer);
    gqa.rope.reset();
    if (gqa.kv_heads == 0) layer.mixer = mamba;
  }
  network->ropes.clear();
  return Ok();
}

}  // namespace

Result<Network> NemotronH(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadPlain(keys, &network));
  for (Layer& layer : network.layers) {
    std::get<Plain>(layer.feed_forward).function = Activation::kReluSquared;
  }
  RETURN_IF_ERROR(KeepOneBlock(keys, &network));
  return network;
}

Result<Network> NemotronHMoe(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kHalves));
  RETURN_IF_ERROR(ReadMixture(
      keys, {.weights = kernels::RouteWeights::kSigmoid, .choice_bias_name = "exp_probs_b.bias"},
      &network));
  ASSIGN_OR_RETURN(const int64_t latent, keys.SizeOr("moe_latent_size", 0));
  for (Layer& layer : network.layers) {
    auto* experts = std::get_if<Experts>(&layer.feed_forward);
    if (experts == nullptr) continue;
    experts->form = ExpertForm::kPlain;
    experts->latent = latent;
  }
  RETURN_IF_ERROR(KeepOneBlock(keys, &network));
  return network;
}

}  // namespace skald::model
