#include "model/families/encoder.h"

#include <string>

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/ranking.h"

namespace skald::model {
namespace {

bool IsFused(const Keys& keys) { return keys.ContainsTensor("blk.0.attn_qkv.weight"); }

}  // namespace

Status SeeBothWays(const Keys& keys, Network* network) {
  ASSIGN_OR_RETURN(const bool causal, keys.FlagOr("attention.causal", false));
  if (causal) {
    return Status(ErrorCode::kUnsupported,
                  keys.Spelled("attention.causal") +
                      " is true, expected false: models of this kind read a text both ways");
  }
  DropMask(network);
  return Ok();
}

Status ReadTokenTypes(const Keys& keys, Network* network) {
  if (!keys.ContainsTensor("token_types.weight")) return Ok();
  ASSIGN_OR_RETURN(network->token_types, keys.TokenTypeCount());
  return Ok();
}

Activation GeluOf(const Keys& keys) {
  const bool tanh = keys.conventions() == Conventions::kLlamaCpp;
  return tanh ? Activation::kGelu : Activation::kGeluErf;
}

Gate GeluGateOf(const Keys& keys) {
  const bool tanh = keys.conventions() == Conventions::kLlamaCpp;
  return tanh ? Gate::kGelu : Gate::kGeluErf;
}

Status ReadGeluGated(const Keys& keys, Network* network) {
  RETURN_IF_ERROR(ReadGated(keys, network));
  const bool separate = keys.ContainsTensor("blk.0.ffn_gate.weight");
  for (Layer& layer : network->layers) {
    auto& gated = std::get<Gated>(layer.feed_forward);
    gated.function = GeluGateOf(keys);
    gated.fusion = separate ? Fusion::kSeparate : Fusion::kFused;
  }
  return Ok();
}

Result<Network> ReadBert(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network,
                   ReadDecoder(keys, kernels::RopePairing::kHalves, NormKind::kLayer));
  RETURN_IF_ERROR(SeeBothWays(keys, &network));
  RETURN_IF_ERROR(ReadTokenTypes(keys, &network));
  RETURN_IF_ERROR(ReadRankHead(keys, kRankAsBert, &network));
  network.embedding_norm = network.head.norm;
  network.head.norm.kind = NormKind::kNone;
  for (Layer& layer : network.layers) {
    layer.mixer_sum_norm = layer.feed_forward_sum_norm = network.embedding_norm;
    layer.mixer_norm.kind = layer.feed_forward_norm.kind = NormKind::kNone;
    if (IsFused(keys)) std::get<Gqa>(layer.mixer).fusion = Fusion::kFused;
  }
  return network;
}

}  // namespace skald::model
