/// What all Gemmas have in common.
#pragma once

#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// RMSNorm before and behind both blocks, GeGLU, an embedding scaled by the root of its width.
Result<Network> ReadGemma(const Keys& keys);

/// Gemma 3's layers: queries and keys are normed; of six layers five see the window of `network`
/// and turn by its second rope, the last sees all.
Status ReadGemma3Layers(const Keys& keys, Network* network);

}  // namespace skald::model
