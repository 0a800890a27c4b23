// Llama 4, Scout and Maverick (Meta 2025): three of four layers see the 8192 positions of their own
// chunk and norm heads behind RoPE, the fourth sees all, turns nothing and lets queries grow. The
// weight of an expert is a sigmoid and multiplies its input.

#include "base/status_macros.h"
#include "model/families/decoder.h"
#include "model/families/families.h"
#include "model/families/mixture.h"

namespace skald::model {
namespace {

// No key has them.
constexpr int64_t kChunk = 8192;
constexpr QueryTemperature kTemperature = {.scale = 0.1, .length = 8192, .shift = 1};
constexpr int64_t kExpertsOfMaverick = 128;  // which norms no heads

}  // namespace

Result<Network> Llama4(const Keys& keys) {
  ASSIGN_OR_RETURN(Network network, ReadDecoder(keys, kernels::RopePairing::kAdjacent));
  RETURN_IF_ERROR(ReadMixture(keys,
                              {.weights = kernels::RouteWeights::kSigmoid,
                               .sum = kernels::RouteSum::kAsItIs,
                               .weight = ExpertWeight::kOfInput},
                              &network));
  ASSIGN_OR_RETURN(const int64_t experts, keys.Size("expert_count"));
  for (size_t i = 0; i < network.layers.size(); ++i) {
    auto& gqa = std::get<Gqa>(network.layers[i].mixer);
    if ((i + 1) % 4 == 0) {
      gqa.rope.reset();
      gqa.temperature = kTemperature;
    } else {
      gqa.chunk = kChunk;
      gqa.head_norm = experts == kExpertsOfMaverick ? HeadNorm::kNone : HeadNorm::kRmsWithoutWeight;
      gqa.head_norm_place = HeadNormPlace::kBehindRope;
    }
    // The shared expert is as wide as the others.
    auto* mixture = std::get_if<Experts>(&network.layers[i].feed_forward);
    if (mixture != nullptr) mixture->shared.hidden = mixture->hidden;
  }
  return network;
}

}  // namespace skald::model
