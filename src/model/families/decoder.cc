#include "model/families/decoder.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "model/checks.h"

namespace skald::model {
namespace {

Result<int64_t> DefaultHeadDim(int64_t width, int64_t heads) {
  if (heads < 1 || width % heads != 0) {
    return Status(ErrorCode::kBadModel, "embedding length " + std::to_string(width) +
                                            " is not a multiple of head count " +
                                            std::to_string(heads) +
                                            " and the file gives no key length");
  }
  return width / heads;
}

Status ReadAttention(const Keys& keys, Network* network) {
  const auto layers = static_cast<int64_t>(network->layers.size());
  ASSIGN_OR_RETURN(const std::vector<int64_t> heads,
                   keys.LayerSizes("attention.head_count", layers));
  std::vector<int64_t> kv_heads = heads;
  if (keys.Contains("attention.head_count_kv")) {
    ASSIGN_OR_RETURN(kv_heads, keys.LayerSizes("attention.head_count_kv", layers));
  }
  ASSIGN_OR_RETURN(const int64_t window, keys.SizeOr("attention.sliding_window", 0));
  for (size_t i = 0; i < network->layers.size(); ++i) {
    Gqa gqa = {.width = network->width,
               .heads = heads[i],
               .kv_heads = kv_heads[i],
               .window = window,
               .norm_epsilon = network->head.norm.epsilon};
    if (keys.Contains("attention.key_length")) {
      ASSIGN_OR_RETURN(gqa.key_dim, keys.Size("attention.key_length"));
    } else {
      ASSIGN_OR_RETURN(gqa.key_dim, DefaultHeadDim(network->width, gqa.heads));
    }
    ASSIGN_OR_RETURN(gqa.value_dim, keys.SizeOr("attention.value_length", gqa.key_dim));
    gqa.scale = DefaultAttentionScale(gqa.key_dim);
    network->layers[i].mixer = std::move(gqa);
  }
  ASSIGN_OR_RETURN(const bool causal, keys.FlagOr("attention.causal", true));
  if (!causal) DropMask(network);
  return Ok();
}

Status ReadYarn(const Keys& keys, int64_t context, Rope* rope) {
  ASSIGN_OR_RETURN(rope->original_context,
                   keys.SizeOr("rope.scaling.original_context_length", context));
  ASSIGN_OR_RETURN(rope->extrapolation, keys.NumberOr("rope.scaling.yarn_ext_factor", 1));
  // Converters write the published attention_factor here, which stands in place of the usual
  // magnitude. A 1 says nothing: older ones wrote it for want of a number.
  ASSIGN_OR_RETURN(const double magnitude, keys.NumberOr("rope.scaling.yarn_attn_factor", 1));
  if (magnitude != 1) rope->magnitude = magnitude;
  // llama.cpp takes them to be 32 and 1 whatever the file says (docs/conventions.md, A2).
  if (keys.conventions() == Conventions::kPublisher) return ReadYarnBetas(keys, rope);
  return Ok();
}

Result<Rope> ReadRope(const Keys& keys, const Network& network) {
  Rope rope;
  const auto& first = std::get<Gqa>(network.layers.front().mixer);
  ASSIGN_OR_RETURN(rope.rotated, keys.SizeOr("rope.dimension_count", first.key_dim));
  ASSIGN_OR_RETURN(rope.base, keys.NumberOr("rope.freq_base", 10000));
  ASSIGN_OR_RETURN(rope.attention_factor, keys.NumberOr("rope.scaling.attn_factor", 1));
  // Files before 2023-10 spell linear scaling as one number.
  ASSIGN_OR_RETURN(const double old_factor, keys.NumberOr("rope.scale_linear", 1));
  ASSIGN_OR_RETURN(rope.factor, keys.NumberOr("rope.scaling.factor", old_factor));
  const std::string_view fallback = keys.Contains("rope.scale_linear") ? "linear" : "none";
  ASSIGN_OR_RETURN(const std::string_view type, keys.TextOr("rope.scaling.type", fallback));
  if (type == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    RETURN_IF_ERROR(ReadYarn(keys, network.context, &rope));
  } else if (type != "none") {
    return Status(ErrorCode::kUnsupported, "rope scaling '" + std::string(type) +
                                               "' is not supported (supported: none, linear, yarn, "
                                               "and factors in rope_freqs.weight)");
  }
  return rope;
}

int64_t LayerCount(const Network& network) { return static_cast<int64_t>(network.layers.size()); }

}  // namespace

Result<Network> ReadFrame(const Keys& keys, NormKind norm) {
  Network network;
  ASSIGN_OR_RETURN(const int64_t layers, keys.Size("block_count"));
  // Before anything of that size is taken.
  RETURN_IF_ERROR(InRange("block count", layers, 1, kMaxLayers));
  ASSIGN_OR_RETURN(network.width, keys.Size("embedding_length"));
  ASSIGN_OR_RETURN(network.context, keys.Size("context_length"));
  ASSIGN_OR_RETURN(network.vocab, keys.VocabularySize());
  const bool is_rms = norm == NormKind::kRms;
  ASSIGN_OR_RETURN(const double epsilon, keys.Number(is_rms ? "attention.layer_norm_rms_epsilon"
                                                            : "attention.layer_norm_epsilon"));
  network.head.norm = {.kind = norm, .epsilon = static_cast<float>(epsilon)};
  network.layers.resize(static_cast<size_t>(layers));
  for (Layer& layer : network.layers) {
    layer.mixer_norm = layer.feed_forward_norm = network.head.norm;
    layer.mixer_output_norm.epsilon = network.head.norm.epsilon;
    layer.feed_forward_output_norm.epsilon = network.head.norm.epsilon;
  }
  return network;
}

Status ReadYarnBetas(const Keys& keys, Rope* rope) {
  ASSIGN_OR_RETURN(rope->beta_fast, keys.NumberOr("rope.scaling.yarn_beta_fast", 32));
  ASSIGN_OR_RETURN(rope->beta_slow, keys.NumberOr("rope.scaling.yarn_beta_slow", 1));
  return Ok();
}

Result<Network> ReadDecoder(const Keys& keys, kernels::RopePairing pairing, NormKind norm) {
  ASSIGN_OR_RETURN(Network network, ReadFrame(keys, norm));
  RETURN_IF_ERROR(ReadAttention(keys, &network));
  ASSIGN_OR_RETURN(Rope rope, ReadRope(keys, network));
  rope.pairing = pairing;
  network.ropes.push_back(std::move(rope));
  return network;
}

Status DropPredictionLayers(const Keys& keys, Network* network) {
  ASSIGN_OR_RETURN(network->prediction_layers, keys.SizeOr("nextn_predict_layers", 0));
  RETURN_IF_ERROR(InRange(keys.Spelled("nextn_predict_layers"), network->prediction_layers, 0,
                          LayerCount(*network) - 1));
  network->layers.resize(static_cast<size_t>(LayerCount(*network) - network->prediction_layers));
  return Ok();
}

Status RefuseMixture(const Keys& keys) {
  ASSIGN_OR_RETURN(const int64_t experts, keys.SizeOr("expert_count", 0));
  ASSIGN_OR_RETURN(const int64_t used, keys.SizeOr("expert_used_count", 0));
  if (experts != 0 || used != 0) {
    return Status(ErrorCode::kUnsupported,
                  "this model is a mixture of " + std::to_string(experts) +
                      " experts, which this version does not run for this architecture");
  }
  return Ok();
}

Status ReadGated(const Keys& keys, Network* network) {
  RETURN_IF_ERROR(RefuseMixture(keys));
  return ReadDense(keys, network);
}

Status ReadDense(const Keys& keys, Network* network) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> hidden,
                   keys.LayerSizes("feed_forward_length", LayerCount(*network)));
  for (size_t i = 0; i < hidden.size(); ++i) {
    network->layers[i].feed_forward = Gated{.width = network->width, .hidden = hidden[i]};
  }
  return Ok();
}

Status ReadPlain(const Keys& keys, Network* network) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> hidden,
                   keys.LayerSizes("feed_forward_length", LayerCount(*network)));
  for (size_t i = 0; i < hidden.size(); ++i) {
    network->layers[i].feed_forward = Plain{.width = network->width, .hidden = hidden[i]};
  }
  return Ok();
}

void AddNormsBehind(Network* network) {
  for (Layer& layer : network->layers) {
    layer.mixer_output_norm.kind = layer.mixer_norm.kind;
    layer.feed_forward_output_norm.kind = layer.feed_forward_norm.kind;
  }
}

void MoveNormsBehind(Network* network) {
  AddNormsBehind(network);
  for (Layer& layer : network->layers) {
    layer.mixer_norm.kind = layer.feed_forward_norm.kind = NormKind::kNone;
  }
}

void MakeParallel(Network* network) {
  for (Layer& layer : network->layers) {
    layer.order = LayerOrder::kParallel;
    layer.feed_forward_norm.kind = NormKind::kNone;
  }
}

Status ReadGraniteFactors(const Keys& keys, Network* network) {
  ASSIGN_OR_RETURN(const double embedding, keys.NumberOr("embedding_scale", 1));
  ASSIGN_OR_RETURN(const double residual, keys.NumberOr("residual_scale", 1));
  ASSIGN_OR_RETURN(const double logits, keys.NumberOr("logit_scale", 1));
  RETURN_IF_ERROR(Positive("logit scale", logits));
  network->embedding_scale = static_cast<float>(embedding);
  network->residual_scale = static_cast<float>(residual);
  network->head.scale = static_cast<float>(1 / logits);
  // Converters say in this way that the model was trained without RoPE.
  ASSIGN_OR_RETURN(const bool turns, keys.FlagOr("rope.scaling.finetuned", true));
  for (Layer& layer : network->layers) {
    auto* gqa = std::get_if<Gqa>(&layer.mixer);
    if (gqa == nullptr) continue;
    ASSIGN_OR_RETURN(const double scale, keys.NumberOr("attention.scale", gqa->scale));
    gqa->scale = static_cast<float>(scale);
    if (!turns) gqa->rope.reset();
  }
  return Ok();
}

Status AddNearRope(const Keys& keys, Network* network) {
  Rope near = network->ropes.at(0);
  ASSIGN_OR_RETURN(near.base, keys.NumberOr("rope.freq_base_swa", 10000));
  near.scaling = RopeScaling::kNone;
  near.factors_name = {};
  network->ropes.push_back(std::move(near));
  return Ok();
}

void SeeAllUnturned(const std::vector<bool>& windows, Network* network) {
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i]) continue;
    auto& gqa = std::get<Gqa>(network->layers[i].mixer);
    gqa.window = 0;
    gqa.rope.reset();
  }
}

void DropMask(Network* network) {
  for (Layer& layer : network->layers) {
    auto* gqa = std::get_if<Gqa>(&layer.mixer);
    if (gqa == nullptr || gqa->mask == Mask::kNone) continue;
    gqa->mask = Mask::kNone;
    if (gqa->window > 0) gqa->window = gqa->window / 2 + 1;
  }
}

void AddNormsOfEachHead(const Keys& keys, Network* network) {
  if (!keys.ContainsTensor("blk.0.attn_q_norm.weight")) return;
  for (Layer& layer : network->layers) {
    std::get<Gqa>(layer.mixer).head_norm = HeadNorm::kLayerOfEachHead;
  }
}

Result<std::vector<bool>> ReadWindowPattern(const Keys& keys, const Network& network,
                                            int64_t period) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  const int64_t layers = LayerCount(network);
  std::vector<bool> windows;
  if (keys.Contains(kKey)) {
    const Result<int64_t> number = keys.Size(kKey);
    if (!number.ok()) {
      ASSIGN_OR_RETURN(const std::vector<int64_t> flags, keys.LayerSizes(kKey, layers));
      windows.assign(flags.begin(), flags.end());
      return windows;
    }
    period = *number;
  }
  for (int64_t i = 0; i < layers; ++i) windows.push_back(period == 0 || (i + 1) % period != 0);
  return windows;
}

}  // namespace skald::model
