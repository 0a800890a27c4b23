/// Safetensors: reads the header of a file of tensors that may come from anywhere.
///
/// A file is a length (8 bytes, little-endian), a JSON object of that many bytes, and the data of
/// all tensors. The header is proven as it is read: each tensor has a type, a shape and a range
/// that agree with each other, and the ranges tile the data without a gap or an overlap, as the
/// format asks. Values are read later, on request.
///
/// Format: https://github.com/huggingface/safetensors. Cost: memory of some 80 bytes for
/// each value of the header, time linear in it but for a sort.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "skald/status.h"

namespace skald::formats {

inline constexpr uint64_t kSafetensorsHeaderMax = 100'000'000;  ///< the format's own limit
inline constexpr size_t kSafetensorsDimsMax = 8;                ///< largest seen: 5

/// Element types, by the names they have in files.
enum class StoredType : uint8_t { kF64, kF32, kF16, kBF16, kF8E4M3, kF8E5M2, kInt, kU8, kBool };

/// "F32", as in files; kInt is any integer but U8.
std::string_view StoredTypeName(StoredType type);

/// One tensor. [begin, begin + bytes) lies inside of the file, and bytes = the product of the shape
/// times the bytes of an element.
struct StoredTensor {
  std::string name;
  StoredType type = StoredType::kF32;
  std::vector<uint64_t> shape;  ///< the last one varies fastest; may be empty: one element
  uint64_t begin = 0;           ///< in the file
  uint64_t bytes = 0;
};

/// The tensors of `source` in the order of their data. Errors: kBadModel with the tensor and what
/// is wrong; kUnsupported for an element type that no reader knows; kIo.
Result<std::vector<StoredTensor>> ParseSafetensors(const ByteSource& source);

}  // namespace skald::formats
