/// What the dense and the mixed LFM2 have in common: short convolutions where a layer has no KV
/// heads, and attention.
#pragma once

#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// The network with its mixers and norms. The feed-forwards are still to read.
Result<Network> ReadLfm2(const Keys& keys);

}  // namespace skald::model
