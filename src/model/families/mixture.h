/// Mixtures of experts: the keys that families share, with what each takes where a file has no key.
#pragma once

#include <string_view>

#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// Which layers are mixtures.
enum class MixtureLayers : uint8_t {
  kByKeys,     ///< every interleave_moe_layer_step-th behind leading_dense_block_count; or all
  kByRouters,  ///< those that have a router among the tensors
};

/// The mixtures of a family. Keys come first: what stands here is for files that lack them.
struct MixtureFamily {
  std::string_view width_key = "expert_feed_forward_length";  ///< of each expert
  kernels::RouteWeights weights = kernels::RouteWeights::kSoftmax;
  kernels::RouteSum sum = kernels::RouteSum::kOne;
  ExpertWeight weight = ExpertWeight::kOfOutput;
  SharedWeight shared_weight = SharedWeight::kOne;
  std::string_view choice_bias_name = {};  ///< empty: the family has none
  MixtureLayers layers = MixtureLayers::kByKeys;
};

/// The feed-forward of every layer: a mixture, or a SwiGLU of feed_forward_length where the layer
/// is dense. Errors: kBadModel for missing keys and numbers that make no sense, kUnsupported for a
/// gating function that no block has.
Status ReadMixture(const Keys& keys, const MixtureFamily& family, Network* network);

/// The same, if the file says that it has experts; else a SwiGLU in every layer.
Status ReadMixtureOrGated(const Keys& keys, const MixtureFamily& family, Network* network);

}  // namespace skald::model
