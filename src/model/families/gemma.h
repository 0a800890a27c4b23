/// What all Gemmas have in common.
#pragma once

#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// RMSNorm before and behind both blocks, GeGLU, an embedding scaled by the root of its width.
Result<Network> ReadGemma(const Keys& keys);

}  // namespace skald::model
