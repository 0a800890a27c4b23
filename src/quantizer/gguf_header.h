/// GgufHeader: the first bytes of a new GGUF file, keys and table of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/metadata.h"
#include "quantizer/type_plan.h"
#include "skald/status.h"

namespace skald::quantizer {

struct GgufHeader {
  std::vector<std::byte> bytes;   ///< up to the data section, padding included
  std::vector<uint64_t> padding;  ///< bytes behind the data of each tensor
};

/// Bytes of a tensor's data in the new file.
uint64_t BytesOf(const PlannedTensor& tensor);

/// Version 3, the keys of `metadata` in their order, without the place in a split, with the file
/// type. Errors: kUnsupported for a key whose value cannot be copied (integers above 2^63 in an
/// array).
Result<GgufHeader> MakeHeader(const formats::Metadata& metadata, uint64_t alignment,
                              uint32_t file_type, std::span<const PlannedTensor> tensors);

}  // namespace skald::quantizer
