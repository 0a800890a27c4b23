// ModernBERT (Warner et al. 2024): norms before the blocks, RoPE, and windows in two layers of
// three.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/encoder.h"
#include "model/families/families.h"
#include "model/families/ranking.h"

namespace skald::model {
namespace {

// Of each period the first layer sees all, not the last. A list says it of each layer.
Result<std::vector<bool>> ReadWindows(const Keys& keys, const Network& network) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  constexpr int64_t kPeriod = 3;
  const bool is_list = keys.Contains(kKey) && !keys.Size(kKey).ok();
  if (is_list) return ReadWindowPattern(keys, network, kPeriod);
  ASSIGN_OR_RETURN(const int64_t period, keys.SizeOr(kKey, kPeriod));
  std::vector<bool> windows;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    windows.push_back(period == 0 || static_cast<int64_t>(i) % period != 0);
  }
  return windows;
}

// GTE's reranker takes the mean of all tokens, and files do not say so; the key says otherwise.
Result<RankForm> RankFormOf(const Keys& keys) {
  constexpr int64_t kFirst = 2;
  ASSIGN_OR_RETURN(const int64_t pooling, keys.SizeOr("pooling_type", 0));
  const bool tanh = keys.conventions() == Conventions::kLlamaCpp;
  return RankForm{.pooling = pooling == kFirst ? Pooling::kFirst : Pooling::kMean,
                  .function = tanh ? RankFunction::kGelu : RankFunction::kGeluErf};
}

}  // namespace

Result<Network> ModernBert(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network,
                   ReadDecoder(keys, kernels::RopePairing::kHalves, NormKind::kLayer));
  RETURN_IF_ERROR(SeeBothWays(keys, &network));
  RETURN_IF_ERROR(ReadGeluGated(keys, &network));
  RETURN_IF_ERROR(AddNearRope(keys, &network));
  network.embedding_norm = network.head.norm;
  ASSIGN_OR_RETURN(const RankForm rank_form, RankFormOf(keys));
  RETURN_IF_ERROR(ReadRankHead(keys, rank_form, &network));
  // The first layer reads the embedding, which is normed already.
  network.layers.front().mixer_norm.kind = NormKind::kNone;
  ASSIGN_OR_RETURN(const std::vector<bool> windows, ReadWindows(keys, network));
  for (size_t i = 0; i < windows.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    gqa.fusion = Fusion::kFused;
    if (windows[i]) gqa.rope = 1;
    if (!windows[i]) gqa.window = 0;
  }
  return network;
}

}  // namespace skald::model
