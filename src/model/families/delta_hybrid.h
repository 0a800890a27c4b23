/// What Qwen3-Next and Qwen3.5 have in common: gated delta nets, and every so many layers gated
/// attention.
#pragma once

#include "model/blocks/delta_net/delta_net.h"
#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// In what the families differ.
struct DeltaHybridFamily {
  KeyHeadOrder order = KeyHeadOrder::kModulo;
  Fusion gates = Fusion::kSeparate;
};

/// The network with its mixers and norms. The feed-forwards are still to read.
Result<Network> ReadDeltaHybrid(const Keys& keys, const DeltaHybridFamily& family);

}  // namespace skald::model
