/// Weights: the tensors of a network, by role, and which of them a network must have.
///
/// The model knows roles and shapes; how a file spells their names is known to load/ alone. SlotsOf
/// lists everything a configuration needs, so that binding either fills all slots or fails with the
/// list of what is missing.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/pack/panel.h"
#include "model/config.h"

namespace skald::model {

/// What a tensor is for. The order is that of a file.
enum class WeightRole : uint8_t {
  kTokenEmbedding,
  kRopeFactors,
  kAttentionNorm,
  kQuery,
  kQueryBias,
  kQueryNorm,
  kKey,
  kKeyBias,
  kKeyNorm,
  kValue,
  kValueBias,
  kAttentionOutput,
  kFeedForwardNorm,
  kGate,
  kUp,
  kDown,
  kOutputNorm,
  kOutput,
};

/// A place for one tensor.
struct WeightSlot {
  WeightRole role;
  int64_t layer = -1;   ///< -1 for tensors outside the layers
  int64_t rows = 1;     ///< output elements; 1 for vectors
  int64_t cols = 0;     ///< input elements, or the length of a vector
  bool vector = false;  ///< held as floats (norms, biases) rather than packed in panels
  /// May be absent: kOutput (then tied to the embedding), kRopeFactors, biases that a family can do
  /// without.
  bool optional = false;
};

/// Every slot of a network of this shape, in the order of WeightRole within a layer. Requires a
/// valid configuration.
std::vector<WeightSlot> SlotsOf(const ModelConfig& config);

/// The tensors of one layer. Vectors are empty where the family has none.
struct LayerWeights {
  std::vector<float> attention_norm;
  kernels::PackedMatrix query, key, value;
  std::vector<float> query_bias, key_bias, value_bias;
  std::vector<float> query_norm, key_norm;
  kernels::PackedMatrix attention_output;
  std::vector<float> feed_forward_norm;
  kernels::PackedMatrix gate, up, down;
};

/// All tensors. The panels lie in memory owned by whoever loaded them (`storage`).
struct Weights {
  kernels::PackedMatrix token_embedding;
  std::vector<LayerWeights> layers;
  std::vector<float> output_norm;
  kernels::PackedMatrix output;  ///< the LM head; the embedding again if they are tied
  AlignedBuffer storage;

  /// The place of a packed slot, and of a vector slot. Requires layers to be sized and the slot to
  /// be of that kind.
  kernels::PackedMatrix& Matrix(const WeightSlot& slot);
  std::vector<float>& Vector(const WeightSlot& slot);
};

}  // namespace skald::model
