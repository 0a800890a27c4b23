/// RoPE (Su et al. 2021; numerics 3.2): rotates pairs of elements of a head by an angle that grows
/// with the position.
#pragma once

#include <cstdint>

namespace skald::kernels {

/// Which elements form a pair.
enum class RopePairing : uint8_t {
  kAdjacent,  ///< (2i, 2i + 1): Llama as stored in GGUF files
  kHalves,    ///< (i, i + rotated / 2): GPT-NeoX, Qwen
};

/// Rotates the heads of one token in place.
///   x        `heads` heads of `head_dim` floats, consecutive
///   cosine, sine   rotated / 2 floats each: the table row of the token's position
/// Elements at rotated .. head_dim - 1 of each head are left alone. `rotated` is even and at most
/// head_dim. Any thread; one pass over x; allocates nothing.
struct RopeArgs {
  float* x = nullptr;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t rotated = 0;
  const float* cosine = nullptr;
  const float* sine = nullptr;
  RopePairing pairing = RopePairing::kAdjacent;
};
using RopeFn = void (*)(const RopeArgs& args);

}  // namespace skald::kernels
