/// ModelConfig: the shape of a network. Plain numbers, checked once by Validate.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/rope/rope.h"
#include "skald/status.h"

namespace skald::model {

/// What distinguishes the families of decoder networks that are built from the blocks of this room.
/// One constant of this type per family stands in arch/; nothing else in the project asks for a
/// family by name.
struct Family {
  std::string_view name;         ///< general.architecture of the file
  kernels::RopePairing pairing;  ///< which elements of a head RoPE rotates together
  bool attention_bias;           ///< Q, K, V must have biases; elsewhere they may
  bool head_norm;                ///< RMSNorm of each query and key head before RoPE
};

/// How RoPE frequencies are stretched beyond the trained context.
enum class RopeScaling : uint8_t { kNone, kLinear, kYarn };

/// Rotary position embedding. Source: Su et al. 2021; linear: Chen et al. 2023; YaRN: Peng et al.
/// 2023, in the form of ggml's rope_yarn; per-frequency factors: the rope_freqs.weight tensor of
/// Llama 3.1 files.
struct RopeConfig {
  int64_t rotated = 0;  ///< elements of a head that are rotated; even
  double base = 10000;  ///< frequency base, theta
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;                ///< context stretched by this
  int64_t original_context = 0;     ///< trained context, for YaRN
  double extrapolation = 1;         ///< YaRN's mix, 1 = as published
  double attention_factor = 1;      ///< YaRN: multiplies the magnitude
  double beta_fast = 32;            ///< YaRN: rotations at which a frequency is kept
  double beta_slow = 1;             ///< YaRN: rotations at which it is fully interpolated
  std::vector<float> factors = {};  ///< divides frequency i; empty, or rotated / 2 numbers
};

/// A network. Sizes are in elements.
struct ModelConfig {
  const Family* family = nullptr;
  int64_t vocab = 0;
  int64_t embedding = 0;  ///< width of the residual stream
  int64_t layers = 0;
  int64_t heads = 0;         ///< query heads
  int64_t kv_heads = 0;      ///< 1 = MQA, heads = MHA, between = GQA
  int64_t key_dim = 0;       ///< elements of a query and key head
  int64_t value_dim = 0;     ///< elements of a value head
  int64_t feed_forward = 0;  ///< hidden width of the SwiGLU
  int64_t context = 0;       ///< trained context in positions
  float norm_epsilon = 0;
  int64_t window = 0;  ///< sliding window in positions, 0 = none
  RopeConfig rope;

  int64_t group() const { return heads / kv_heads; }
  int64_t query_width() const { return heads * key_dim; }
  int64_t key_width() const { return kv_heads * key_dim; }
  int64_t value_width() const { return kv_heads * value_dim; }
  int64_t attention_width() const { return heads * value_dim; }
};

/// Bounds far above any published model: a file beyond them is broken or hostile.
inline constexpr int64_t kMaxLayers = 512;
inline constexpr int64_t kMaxHeads = 1024;
inline constexpr int64_t kMaxHeadDim = 1024;
inline constexpr int64_t kMaxWidth = int64_t{1} << 20;
inline constexpr int64_t kMaxContext = int64_t{1} << 27;

/// Checks every field and how they fit together. Errors: kBadModel with the field, what was found,
/// what was expected.
Status Validate(const ModelConfig& config);

}  // namespace skald::model
