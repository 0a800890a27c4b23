/// What nearly every family has in common: the network that llama began, under the keys that most
/// of its descendants kept. A family reads it and changes what it does in another way.
#pragma once

#include <string_view>

#include "kernels/rope/rope.h"
#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// A network of layers with grouped-query attention, one RoPE and RMSNorm before each block. The
/// feed-forwards are still to read. Sizes that files may give for each layer are read for each.
Result<Network> ReadDecoder(const Keys& keys, kernels::RopePairing pairing);

/// Takes the last layers away which, by the file's key, predict further tokens: they are no part of
/// the network (Network::prediction_layers). Call it when every layer has been read: files count
/// these among the others. Errors: kBadModel if no layer is left.
Status DropPredictionLayers(const Keys& keys, Network* network);

/// A SwiGLU in every layer. Errors: kUnsupported for a mixture of experts.
Status ReadGated(const Keys& keys, Network* network);

/// A mixture of experts in every layer, of the width that `hidden_key` gives.
Status ReadExperts(const Keys& keys, std::string_view hidden_key, Network* network);

}  // namespace skald::model
