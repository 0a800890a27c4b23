#include "huggingface/tensor_coding.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"

namespace skald::huggingface {
namespace {

using formats::StoredTensor;
using formats::StoredType;
using tensor::DType;

constexpr std::string_view kBlocks = "_blocks";

bool IsFloat(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kF16 || type == StoredType::kBF16;
}

DType DTypeOf(StoredType type) {
  if (type == StoredType::kF16) return DType::kF16;
  return type == StoredType::kBF16 ? DType::kBF16 : DType::kF32;
}

bool HasNone(const std::vector<uint64_t>& dims) {
  return std::find(dims.begin(), dims.end(), uint64_t{0}) != dims.end();
}

// Rows and columns that share a scale of FP8: squares only, as all that are published.
Result<uint64_t> ScaleBlock(const Config& config) {
  const auto quantization = config.Find("quantization_config");
  const auto size = quantization ? quantization->Find("weight_block_size") : std::nullopt;
  if (!size || size->size() != 2)
    return ConfigError("quantization_config", "has no weight_block_size of two numbers",
                       ErrorCode::kUnsupported);
  const auto rows = (*size->begin()).AsInt();
  const auto columns = (*++size->begin()).AsInt();
  if (!rows || rows != columns || *rows < 1 || *rows > 65536)
    return ConfigError("weight_block_size", "expected two equal numbers of 1 to 65536",
                       ErrorCode::kUnsupported);
  return static_cast<uint64_t>(*rows);
}

const Stored* FindStored(const StoredByName& stored, const std::string& name) {
  const auto found = stored.find(name);
  return found == stored.end() ? nullptr : found->second;
}

// Each slice has scales of its own, because each is a tensor of its own where FP8 is stored.
Status ChooseFp8(const Config& config, const StoredByName& stored, PlannedTensor* tensor) {
  tensor->coding = Coding::kFp8;
  tensor->dtype = DType::kBF16;
  ASSIGN_OR_RETURN(tensor->scale_block, ScaleBlock(config));
  const auto blocks = [&](uint64_t count) {
    return (count + tensor->scale_block - 1) / tensor->scale_block;
  };
  const std::vector<uint64_t> expected = {blocks(tensor->rows), blocks(tensor->columns)};
  for (Slice& slice : tensor->slices) {
    const std::string name = slice.values->tensor.name + "_scale_inv";
    slice.scales = FindStored(stored, name);
    if (slice.scales == nullptr) return TensorError(name, "is missing");
    const StoredTensor& scales = slice.scales->tensor;
    if (scales.type != StoredType::kF32 || scales.shape != expected)
      return TensorError(name, fmt::format("expected F32 of {} x {}", expected[0], expected[1]));
  }
  return Ok();
}

// One tensor of exponents [experts, rows, columns / 32] beside that of blocks.
Status ChooseMxfp4(const StoredByName& stored, PlannedTensor* tensor) {
  const StoredTensor& blocks = tensor->slices.front().values->tensor;
  const std::vector<uint64_t>& shape = blocks.shape;
  const std::string name = blocks.name.substr(0, blocks.name.size() - kBlocks.size()) + "_scales";
  const Stored* scales = FindStored(stored, name);
  if (scales == nullptr) return TensorError(name, "is missing");
  if (scales->tensor.type != StoredType::kU8 ||
      scales->tensor.shape != std::vector<uint64_t>(shape.begin(), shape.end() - 1))
    return TensorError(name, "does not have the shape of its blocks");
  tensor->coding = Coding::kMxfp4;
  tensor->dtype = DType::kMXFP4;
  for (Slice& slice : tensor->slices) slice.scales = scales;
  return Ok();
}

}  // namespace

Result<StoredShape> ReadStoredShape(const StoredTensor& stored, Stacking stacking) {
  std::vector<uint64_t> dims = stored.shape;
  if (HasNone(dims) || dims.empty()) return TensorError(stored.name, "has no elements");
  StoredShape shape;
  if (stacking == Stacking::kStacked && dims.size() > 1) {
    shape.slices = dims.front();
    dims.erase(dims.begin());
  }
  // Convolutions of each channel by itself: [channels, 1, taps].
  if (dims.size() == 3 && dims[1] == 1) dims.erase(dims.begin() + 1);
  if (dims.size() > 2)
    return TensorError(stored.name, "has too many dimensions", ErrorCode::kUnsupported);
  shape.is_vector = dims.size() == 1;
  shape.columns = dims.back();
  if (!shape.is_vector) shape.rows = dims.front();
  return shape;
}

Result<StoredShape> ReadMxfp4Shape(const StoredTensor& blocks) {
  const std::vector<uint64_t>& shape = blocks.shape;
  if (!blocks.name.ends_with(kBlocks) || shape.size() != 4 || shape[3] != kMxfp4NibbleBytes ||
      HasNone(shape)) {
    return TensorError(blocks.name, "element type U8, expected MXFP4 blocks [experts, rows, n, 16]",
                       ErrorCode::kUnsupported);
  }
  return StoredShape{.slices = shape[0], .rows = shape[1], .columns = shape[2] * kMxfp4Columns};
}

Status ChooseCoding(const Config& config, const StoredByName& stored, PlannedTensor* tensor) {
  const StoredTensor& first = tensor->slices.front().values->tensor;
  if (first.type == StoredType::kU8) return ChooseMxfp4(stored, tensor);
  const bool is_float = IsFloat(first.type);
  if (tensor->values != Values::kAsStored) {
    if (!is_float)
      return TensorError(first.name, "expected F32, F16 or BF16", ErrorCode::kUnsupported);
    tensor->coding = Coding::kToF32;
    tensor->dtype = DType::kF32;
    return Ok();
  }
  if (first.type == StoredType::kF8E4M3) return ChooseFp8(config, stored, tensor);
  if (is_float) {
    tensor->dtype = DTypeOf(first.type);
    return Ok();
  }
  return TensorError(first.name,
                     fmt::format("element type {}, expected F32, F16, BF16, F8_E4M3 or U8 blocks",
                                 formats::StoredTypeName(first.type)),
                     ErrorCode::kUnsupported);
}

}  // namespace skald::huggingface
