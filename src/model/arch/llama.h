/// Llama 1 to 3, Mistral, TinyLlama, SmolLM: the plain network. GGUF converters permute Q and K so
/// that adjacent elements are rotated together (Touvron et al. 2023).
#pragma once

#include "model/config.h"

namespace skald::model {

inline constexpr Family kLlama = {
    .name = "llama",
    .pairing = kernels::RopePairing::kAdjacent,
    .attention_bias = false,
    .head_norm = false,
};

}  // namespace skald::model
