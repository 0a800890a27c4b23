/// Qwen2 and Qwen2.5: biases on Q, K and V, RoPE over halves (Yang et al. 2024).
#pragma once

#include "model/config.h"

namespace skald::model {

inline constexpr Family kQwen2 = {
    .name = "qwen2",
    .pairing = kernels::RopePairing::kHalves,
    .attention_bias = true,
    .head_norm = false,
};

}  // namespace skald::model
