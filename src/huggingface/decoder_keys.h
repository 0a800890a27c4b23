/// The keys that nearly all architectures have in common, from the members of config.json.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "huggingface/architecture.h"
#include "huggingface/config.h"
#include "huggingface/rope_keys.h"
#include "skald/status.h"

namespace skald::huggingface {

/// Writes the keys of a decoder: sizes, heads, epsilon, RoPE and its scaling. Returns the factors
/// of the frequencies, where the scaling is told by such. Errors: kBadModel for a missing or
/// impossible member; kUnsupported for a member that asks for what the family does not do.
Result<std::vector<ComputedTensor>> WriteDecoderKeys(const Config& config,
                                                     const Architecture& architecture,
                                                     KeyWriter* keys);

/// Member `name`, which counts heads or the elements of one: 1 to 65536, so that no product of a
/// few of them overflows. Errors: kBadModel.
Result<int64_t> HeadSize(const Config& config, std::string_view name);

/// attention.sliding_window, where `sliding_window` is there.
Status WindowKey(const Config& config, KeyWriter* keys);

/// Qwen's files name a window that is not used. Errors: kUnsupported if it is.
Status ExpectUnusedWindow(const Config& config);

/// attention.sliding_window_pattern: which layers see a window, from `layer_types`, else from the
/// period that stands in the member `period` (none if that is empty).
Status WindowPattern(const Config& config, std::string_view period, KeyWriter* keys);

/// The rows of learned positions that stand for padding: as many as its id, and one.
Result<int64_t> PaddingRows(const Config& config);

/// For each layer whether it is of the kind `one` of `layer_types`, where that member is there;
/// else none. Errors: kUnsupported for a kind that is neither, kBadModel for too few or too many.
Result<std::vector<int64_t>> LayerFlags(const Config& config, std::string_view one,
                                        std::string_view zero);

}  // namespace skald::huggingface
