/// What nearly every family has in common: the network that llama began, under the keys that most
/// of its descendants kept. A family reads it and changes what it does in another way.
#pragma once

#include "kernels/rope/rope.h"
#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// A network of layers with grouped-query attention, one RoPE, RMSNorm before each block and
/// SwiGLU. Sizes that files may give for each layer are read for each layer.
Result<Network> ReadDecoder(const Keys& keys, kernels::RopePairing pairing);

}  // namespace skald::model
