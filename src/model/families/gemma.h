/// What all Gemmas have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// RMSNorm before and behind both blocks, GeGLU, an embedding scaled by the root of its width.
Result<Network> ReadGemma(const Keys& keys);

/// Gemma 3's layers: queries and keys are normed; of `period` layers the last sees all, the others
/// see the window of `network` and turn by its second rope. Returns which have a window.
Result<std::vector<bool>> ReadGemma3Layers(const Keys& keys, int64_t period, Network* network);

/// Lets the last `shared` layers read the keys and values of the last layer of their kind that has
/// some: with a window, or without. Errors: kBadModel.
Status ShareKeysAndValues(const std::vector<bool>& windows, int64_t shared, Network* network);

/// What each layer is told of the token itself, where the file has it.
Status ReadLayerInputs(const Keys& keys, Network* network);

}  // namespace skald::model
