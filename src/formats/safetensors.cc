#include "formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/checked_math.h"
#include "base/json_tree.h"
#include "base/status_macros.h"
#include "formats/quote.h"

namespace skald::formats {
namespace {

struct TypeRow {
  std::string_view name;
  StoredType type;
  uint64_t bytes;  // of an element
};

constexpr TypeRow kTypes[] = {
    {"F64", StoredType::kF64, 8},        {"F32", StoredType::kF32, 4},
    {"F16", StoredType::kF16, 2},        {"BF16", StoredType::kBF16, 2},
    {"F8_E4M3", StoredType::kF8E4M3, 1}, {"F8_E5M2", StoredType::kF8E5M2, 1},
    {"U8", StoredType::kU8, 1},          {"BOOL", StoredType::kBool, 1},
    {"I8", StoredType::kInt, 1},         {"I16", StoredType::kInt, 2},
    {"U16", StoredType::kInt, 2},        {"I32", StoredType::kInt, 4},
    {"U32", StoredType::kInt, 4},        {"I64", StoredType::kInt, 8},
    {"U64", StoredType::kInt, 8},
};

Status Bad(std::string_view name, std::string_view problem) {
  return Status(ErrorCode::kBadModel, fmt::format("tensor {}: {}", Quote(name), problem));
}

Result<std::string> ReadHeader(const ByteSource& source) {
  uint64_t length = 0;
  if (source.size() < sizeof(length))
    return Status(ErrorCode::kBadModel,
                  "shorter than the 8 bytes that a safetensors file begins with");
  RETURN_IF_ERROR(source.ReadAt(0, std::as_writable_bytes(std::span(&length, 1))));
  const uint64_t limit = std::min(kSafetensorsHeaderMax, source.size() - sizeof(length));
  if (length > limit) {
    return Status(
        ErrorCode::kBadModel,
        fmt::format("a header of {} bytes, at most {} are possible here: truncated, or no "
                    "safetensors file",
                    length, limit));
  }
  std::string header(length, '\0');
  RETURN_IF_ERROR(source.ReadAt(sizeof(length), std::as_writable_bytes(std::span(header))));
  return header;
}

Result<const TypeRow*> TypeOf(JsonValue entry) {
  const auto dtype = entry.Find("dtype");
  const auto name = dtype ? dtype->AsString() : std::nullopt;
  if (!name) return Bad(entry.name(), "has no dtype");
  for (const TypeRow& row : kTypes)
    if (row.name == *name) return &row;
  return Status(ErrorCode::kUnsupported, fmt::format("tensor {}: element type {} is not known",
                                                     Quote(entry.name()), Quote(*name)));
}

// An element of a shape or of data_offsets.
std::optional<uint64_t> SizeOf(JsonValue value) {
  const auto number = value.AsInt();
  if (!number || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

// Reads the shape; returns the bytes that it takes.
Result<uint64_t> ReadShape(JsonValue entry, uint64_t element_bytes, StoredTensor* tensor) {
  const auto shape = entry.Find("shape");
  if (!shape || !shape->IsArray()) return Bad(entry.name(), "has no shape");
  CheckedU64 bytes(element_bytes);
  for (const JsonValue dim : *shape) {
    const auto size = SizeOf(dim);
    if (!size) return Bad(entry.name(), "a dimension is no natural number");
    if (tensor->shape.size() == kSafetensorsDimsMax)
      return Bad(entry.name(), fmt::format("more than {} dimensions", kSafetensorsDimsMax));
    tensor->shape.push_back(*size);
    bytes = bytes.Mul(*size);
  }
  if (!bytes.exact()) return Bad(entry.name(), "more than 2^64 bytes");
  return *bytes.value();
}

struct DataRange {
  uint64_t begin;
  uint64_t end;
};

Result<DataRange> ReadRange(JsonValue entry) {
  const auto offsets = entry.Find("data_offsets");
  std::vector<uint64_t> ends;
  if (offsets && offsets->IsArray()) {
    for (const JsonValue offset : *offsets) {
      const auto place = SizeOf(offset);
      if (place && ends.size() < 3) ends.push_back(*place);
    }
  }
  if (ends.size() != 2 || ends[0] > ends[1])
    return Bad(entry.name(), "expected data_offsets [begin, end]");
  return DataRange{ends[0], ends[1]};
}

Result<StoredTensor> ReadEntry(JsonValue entry) {
  if (!entry.IsObject()) return Bad(entry.name(), "expected an object");
  StoredTensor tensor;
  tensor.name = entry.name();
  ASSIGN_OR_RETURN(const TypeRow* type, TypeOf(entry));
  tensor.type = type->type;
  ASSIGN_OR_RETURN(tensor.bytes, ReadShape(entry, type->bytes, &tensor));
  ASSIGN_OR_RETURN(const DataRange range, ReadRange(entry));
  if (range.end - range.begin != tensor.bytes) {
    return Bad(tensor.name, fmt::format("type and shape take {} bytes, data_offsets hold {}",
                                        tensor.bytes, range.end - range.begin));
  }
  tensor.begin = range.begin;
  return tensor;
}

// Moves the tensors to their places in the file, which they must tile from `data_begin` to the end.
Status Tile(uint64_t data_begin, uint64_t file_bytes, std::vector<StoredTensor>* tensors) {
  std::sort(tensors->begin(), tensors->end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
  });
  uint64_t next = 0;
  for (StoredTensor& tensor : *tensors) {
    if (tensor.begin != next) {
      return Bad(tensor.name, fmt::format("its data begins at {}, expected {} ({})", tensor.begin,
                                          next, tensor.begin < next ? "overlap" : "gap"));
    }
    if (tensor.bytes > file_bytes - data_begin - next) {
      return Bad(tensor.name, fmt::format("needs {} bytes at {}, past the end of the file ({} "
                                          "bytes): truncated?",
                                          tensor.bytes, data_begin + next, file_bytes));
    }
    tensor.begin += data_begin;
    next += tensor.bytes;
  }
  return Ok();
}

}  // namespace

std::string_view StoredTypeName(StoredType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return type == StoredType::kInt ? "an integer type" : row.name;
  return "unknown";
}

Result<std::vector<StoredTensor>> ParseSafetensors(const ByteSource& source) {
  ASSIGN_OR_RETURN(const std::string header, ReadHeader(source));
  Result<JsonTree> tree = JsonTree::Parse(header);
  if (!tree.ok()) return std::move(tree).status().WithContext("header");
  const JsonValue root = tree->root();
  if (!root.IsObject()) return Status(ErrorCode::kBadModel, "header: expected an object");
  std::vector<StoredTensor> tensors;
  for (const JsonValue entry : root) {
    if (entry.name() == "__metadata__") continue;  // what the writer says of itself
    ASSIGN_OR_RETURN(StoredTensor tensor, ReadEntry(entry));
    tensors.push_back(std::move(tensor));
  }
  RETURN_IF_ERROR(Tile(sizeof(uint64_t) + header.size(), source.size(), &tensors));
  return tensors;
}

}  // namespace skald::formats
