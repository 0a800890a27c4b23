/// Qwen3: no biases, but RMSNorm of each query and key head (Yang et al. 2025).
#pragma once

#include "model/config.h"

namespace skald::model {

inline constexpr Family kQwen3 = {
    .name = "qwen3",
    .pairing = kernels::RopePairing::kHalves,
    .attention_bias = false,
    .head_norm = true,
};

}  // namespace skald::model
