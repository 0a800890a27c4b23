/// The keys that nearly all architectures have in common, from the members of config.json.
#pragma once

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

/// Writes the keys of a decoder: sizes, heads, epsilon, RoPE and its scaling. Returns the factors
/// of the frequencies, where the scaling is told by such. Errors: kBadModel for a missing or
/// impossible member; kUnsupported for a member that asks for what the family does not do.
Result<std::vector<ComputedTensor>> WriteDecoderKeys(const Config& config,
                                                     const Architecture& architecture,
                                                     KeyWriter* keys);

/// attention.sliding_window_pattern: which layers see a window, from `layer_types`, else from the
/// period that stands in the member `period` (none if that is empty).
Status WindowPattern(const Config& config, std::string_view period, KeyWriter* keys);

/// The base of the layers that see a window, where they have one of their own.
Result<double> NearRopeBase(const Config& config, double fallback);

}  // namespace skald::huggingface
