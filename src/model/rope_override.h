/// What a RopeOverride makes of a network.
#pragma once

#include "model/network.h"
#include "skald/rope_override.h"
#include "skald/status.h"

namespace skald::model {

/// Changes the ropes of layers that see the whole context, and `network->context`; those of layers
/// with a window alone stay, as their distances do. The network is valid before and after.
/// Errors: kInvalidArgument with the number, what was found, what was expected; kUnsupported for a
/// network that has no such rope, or whose latent attention has a scale that hangs on its own.
Status OverrideRopes(const RopeOverride& override, Network* network);

}  // namespace skald::model
