/// Small networks with random weights of any element type, for tests of the forward pass.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "model/transformer.h"
#include "tensor/dtype.h"

namespace skald::support {

/// Shape and storage of a random network. Defaults: two layers, GQA with four query heads per KV
/// head.
struct RandomModelSpec {
  std::string_view family = "llama";
  tensor::DType dtype = tensor::DType::kF32;
  int64_t embedding = 256;
  int64_t heads = 8;
  int64_t kv_heads = 2;
  int64_t head_dim = 32;
  int64_t feed_forward = 256;
  int64_t vocab = 100;
  int64_t window = 0;
  int64_t experts = 0;  ///< 0: no mixture
  int64_t used_experts = 0;
  int64_t latent_rank = 0;  ///< of families with latent attention; half of a head is turned
  uint32_t seed = 1;
  /// Of every matrix (PackedMatrix::factor); what the panels hold is smaller by it.
  float factor = 1;
  bool optional_biases = false;  ///< whether it has the biases that it may have
  /// Changes the numbers of the network before its tensors are made.
  std::function<void(model::Network&)> change = [](model::Network&) {};
};

/// Builds the network. Weights are of a size that keeps activations near 1 through the layers.
model::Transformer MakeRandomModel(const RandomModelSpec& spec);

}  // namespace skald::support
