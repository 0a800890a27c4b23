/// Latent attention under the keys that all families with it share.
#pragma once

#include "model/blocks/mla/mla.h"
#include "model/families/keys.h"
#include "model/network.h"

namespace skald::model {

/// What multiplies the logarithm in YaRN's magnitude of cosine and sine, where the file gives a
/// multiplier for that of the scores.
enum class LatentMagnitude : uint8_t {
  kSame,  ///< the same: they cancel
  kOne,
};

/// The attention of a layer with `heads` heads. The network has its rope, whose magnitude is set:
/// with YaRN, scores are multiplied by the square of a magnitude of their own.
/// Errors: kBadModel for missing keys and for numbers that do not fit together.
Result<Mla> ReadLatentAttention(const Keys& keys, LatentMagnitude magnitude, Network* network);

/// ReadDecoder with latent attention in every layer.
Result<Network> ReadLatentDecoder(const Keys& keys, LatentMagnitude magnitude);

}  // namespace skald::model
