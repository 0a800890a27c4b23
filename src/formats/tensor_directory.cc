#include "formats/tensor_directory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/checked_math.h"
#include "base/status_macros.h"
#include "formats/gguf.h"
#include "formats/quote.h"

namespace skald::formats {
namespace {

Status BadTensor(std::string_view name, std::string_view problem) {
  return Status(ErrorCode::kBadModel, fmt::format("tensor {}: {}", Quote(name), problem));
}

// "F32, F16, ...", what skald reads.
std::string SupportedTypes() {
  std::string list;
  for (const tensor::DTypeInfo& info : tensor::AllDTypes()) {
    if (!list.empty()) list += ", ";
    list += info.name;
  }
  return list;
}

// Element types that GGUF defines and skald does not read, so that the message can say what the
// file holds. From enum ggml_type; the numbers without a name here or in dtype.cc were removed.
std::string_view NameOfOtherType(uint32_t type_id) {
  switch (type_id) {
    case 9: return "Q8_1";
    case 15: return "Q8_K";
    case 24: return "I8";
    case 25: return "I16";
    case 26: return "I32";
    case 27: return "I64";
    case 28: return "F64";
    default: return "unknown";
  }
}

Status CheckName(std::string_view name) {
  if (name.empty()) return Status(ErrorCode::kBadModel, "a tensor has an empty name");
  if (name.size() > kTensorNameBytesMax) {
    return BadTensor(name, fmt::format("the name has {} bytes, at most {} are allowed", name.size(),
                                       kTensorNameBytesMax));
  }
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!printable) return BadTensor(name, "the name holds bytes other than printable ASCII");
  return Ok();
}

Status CheckDims(const TensorClaim& claim) {
  if (claim.dim_count < 1 || claim.dim_count > kTensorDimsMax) {
    return BadTensor(claim.name, fmt::format("expected 1 to {} dimensions, found {}",
                                             kTensorDimsMax, claim.dim_count));
  }
  for (uint32_t i = 0; i < claim.dim_count; ++i) {
    if (claim.dims[i] == 0) return BadTensor(claim.name, fmt::format("dimension {} is 0", i));
  }
  return Ok();
}

// How the tensors of a file and an error about one of them name the same thing.
std::string ShapeOf(const TensorClaim& claim) {
  return fmt::format("[{}]",
                     fmt::join(claim.dims.begin(), claim.dims.begin() + claim.dim_count, ", "));
}

Result<uint64_t> ByteCountOf(const TensorClaim& claim, const tensor::DTypeInfo& type) {
  if (claim.dims[0] % type.block_elements != 0) {
    return BadTensor(claim.name,
                     fmt::format("rows of {} elements are no multiple of the {} elements of a {} "
                                 "block",
                                 claim.dims[0], type.block_elements, type.name));
  }
  CheckedU64 bytes = CheckedU64(claim.dims[0] / type.block_elements).Mul(type.block_bytes);
  for (uint32_t i = 1; i < claim.dim_count; ++i) bytes = bytes.Mul(claim.dims[i]);
  if (bytes.value()) return *bytes.value();
  return BadTensor(claim.name, fmt::format("a {} tensor of shape {} has more than 2^64 bytes",
                                           type.name, ShapeOf(claim)));
}

}  // namespace

// ---- directory ----

const TensorInfo* TensorDirectory::Find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [this](uint32_t i, std::string_view n) { return tensors_[i].name < n; });
  if (found == by_name_.end() || tensors_[*found].name != name) return nullptr;
  return &tensors_[*found];
}

Result<const TensorInfo*> TensorDirectory::Get(std::string_view name) const {
  const TensorInfo* tensor = Find(name);
  if (tensor == nullptr) return BadTensor(name, "is missing");
  return tensor;
}

Status TensorDirectory::IndexNames() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), uint32_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [this](uint32_t a, uint32_t b) { return tensors_[a].name < tensors_[b].name; });
  const auto twin = std::adjacent_find(
      by_name_.begin(), by_name_.end(),
      [this](uint32_t a, uint32_t b) { return tensors_[a].name == tensors_[b].name; });
  if (twin == by_name_.end()) return Ok();
  const TensorInfo& one = tensors_[*twin];
  const TensorInfo& other = tensors_[*std::next(twin)];
  if (one.part == other.part) return BadTensor(one.name, "stands twice");
  return BadTensor(
      one.name, fmt::format("stands in part {} and in part {}", std::min(one.part, other.part) + 1,
                            std::max(one.part, other.part) + 1));
}

Result<TensorDirectory> TensorDirectory::Merge(std::span<const TensorDirectory> parts) {
  TensorDirectory merged;
  size_t count = 0;
  for (const TensorDirectory& part : parts) count += part.size();
  merged.tensors_.reserve(count);
  for (size_t i = 0; i < parts.size(); ++i) {
    for (TensorInfo tensor : parts[i].tensors_) {
      tensor.part = static_cast<uint16_t>(i);
      merged.tensors_.push_back(tensor);
    }
    merged.names_.insert(merged.names_.end(), parts[i].names_.begin(), parts[i].names_.end());
  }
  RETURN_IF_ERROR(merged.IndexNames());
  return merged;
}

// ---- builder ----

TensorDirectoryBuilder::TensorDirectoryBuilder(uint64_t alignment,
                                               std::shared_ptr<const std::byte[]> names)
    : alignment_(alignment) {
  directory_.names_.push_back(std::move(names));
}

void TensorDirectoryBuilder::Reserve(size_t count) { directory_.tensors_.reserve(count); }

Status TensorDirectoryBuilder::Add(const TensorClaim& claim) {
  RETURN_IF_ERROR(CheckName(claim.name));
  RETURN_IF_ERROR(CheckDims(claim));
  const std::optional<tensor::DType> dtype = tensor::DTypeFromGguf(claim.type_id);
  if (!dtype) {
    return Status(ErrorCode::kUnsupported,
                  fmt::format("tensor {}: element type {} ({}) is not supported; supported are {}",
                              Quote(claim.name), claim.type_id, NameOfOtherType(claim.type_id),
                              SupportedTypes()));
  }
  ASSIGN_OR_RETURN(const uint64_t byte_count, ByteCountOf(claim, tensor::InfoOf(*dtype)));
  if (claim.data_offset % alignment_ != 0) {
    return BadTensor(claim.name, fmt::format("data offset {} is no multiple of the alignment {}",
                                             claim.data_offset, alignment_));
  }
  if (claim.data_offset != next_offset_) {
    return BadTensor(
        claim.name,
        fmt::format("expected data offset {}, right after the tensor before, found {} ({})",
                    next_offset_, claim.data_offset,
                    claim.data_offset < next_offset_ ? "overlap or wrong order" : "gap"));
  }
  const auto next = CheckedU64(next_offset_).Add(byte_count).RoundUp(alignment_).value();
  if (!next) return BadTensor(claim.name, "its data ends beyond 2^64 bytes");
  directory_.tensors_.push_back({.name = claim.name,
                                 .dtype = *dtype,
                                 .dim_count = static_cast<uint8_t>(claim.dim_count),
                                 .part = 0,
                                 .dims = claim.dims,
                                 .offset = claim.data_offset,
                                 .byte_count = byte_count});
  next_offset_ = *next;
  return Ok();
}

Result<TensorDirectory> TensorDirectoryBuilder::Finish(uint64_t data_begin,
                                                       uint64_t file_bytes) && {
  for (TensorInfo& tensor : directory_.tensors_) {
    const CheckedU64 begin = CheckedU64(data_begin).Add(tensor.offset);
    const CheckedU64 end = begin.Add(tensor.byte_count);
    if (!end.AtMost(file_bytes)) {
      return BadTensor(tensor.name,
                       fmt::format("needs {} bytes at offset {} + {}, past the end of the file "
                                   "({} bytes): truncated?",
                                   tensor.byte_count, data_begin, tensor.offset, file_bytes));
    }
    tensor.offset = *begin.value();
  }
  RETURN_IF_ERROR(directory_.IndexNames());
  return std::move(directory_);
}

}  // namespace skald::formats
