/// RopeKeys: how positions turn, and how they are stretched, from the members of config.json.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "skald/status.h"

namespace skald::huggingface {

/// Tensors that no file holds, because config.json says how they are computed.
struct ComputedTensor {
  std::string_view name;  ///< ours
  std::vector<float> values;
};

/// What the scaling needs to know.
struct RopeShape {
  double base = 0;
  int64_t rotated = 0;
  int64_t context = 0;  ///< max_position_embeddings
  bool latent = false;  ///< of an Architecture
};

/// The base of the angles: 10000 where nothing is said. Errors: kBadModel.
Result<double> RopeBase(const Config& config);

/// The share of a head that positions turn. Errors: kBadModel.
Result<double> RotatedShare(const Config& config, double fallback);

/// The base of the layers that see a window, where they have one of their own.
Result<double> NearRopeBase(const Config& config, double fallback);

/// Writes the keys of the scaling, and returns the factors of the frequencies, where it is told by
/// such. Errors: kBadModel for a missing or impossible member, kUnsupported for one that is not
/// known.
Result<std::vector<ComputedTensor>> WriteRopeScaling(const Config& config, const RopeShape& rope,
                                                     KeyWriter* keys);

}  // namespace skald::huggingface
