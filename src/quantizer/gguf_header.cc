#include "quantizer/gguf_header.h"

#include <cstring>
#include <string>
#include <string_view>

#include "base/checked_math.h"
#include "base/status_macros.h"

namespace skald::quantizer {
namespace {

using formats::Metadata;
using formats::MetadataEntry;
using formats::ValueType;

constexpr std::string_view kFileType = "general.file_type";
constexpr std::string_view kQuantizationVersion = "general.quantization_version";
constexpr uint32_t kVersionOfBlocks = 2;  // of the layouts in tensor/quant_blocks.h

class Bytes {
 public:
  template <typename T>
  void Put(T value) {
    const size_t begin = bytes_.size();
    bytes_.resize(begin + sizeof(value));
    std::memcpy(bytes_.data() + begin, &value, sizeof(value));
  }
  void PutText(std::string_view text) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), bytes, bytes + text.size());
  }
  void PutString(std::string_view text) {
    Put(uint64_t{text.size()});
    PutText(text);
  }
  void PutKey(std::string_view key, ValueType type) {
    PutString(key);
    Put(static_cast<uint32_t>(type));
  }
  void PutInt(ValueType type, int64_t value) {
    switch (type) {
      case ValueType::kUint8:
      case ValueType::kInt8:
      case ValueType::kBool: Put(static_cast<uint8_t>(value)); return;
      case ValueType::kUint16:
      case ValueType::kInt16: Put(static_cast<uint16_t>(value)); return;
      case ValueType::kUint32:
      case ValueType::kInt32: Put(static_cast<uint32_t>(value)); return;
      default: Put(value); return;
    }
  }
  void PutFloat(ValueType type, double value) {
    if (type == ValueType::kFloat32) {
      Put(static_cast<float>(value));  // it was one
    } else {
      Put(value);
    }
  }
  void PadTo(uint64_t alignment) { bytes_.resize(RoundUp<uint64_t>(bytes_.size(), alignment)); }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

bool IsFloat(ValueType type) { return type == ValueType::kFloat32 || type == ValueType::kFloat64; }

Status PutArray(const Metadata& metadata, const MetadataEntry& entry, Bytes& out) {
  out.Put(static_cast<uint32_t>(entry.element_type));
  out.Put(entry.count);
  if (entry.element_type == ValueType::kString) {
    ASSIGN_OR_RETURN(const formats::StringArray strings, metadata.GetStrings(entry.key));
    for (const std::string_view text : strings) out.PutString(text);
  } else if (IsFloat(entry.element_type)) {
    ASSIGN_OR_RETURN(const formats::FloatArray floats, metadata.GetFloats(entry.key));
    for (size_t i = 0; i < floats.size(); ++i) out.PutFloat(entry.element_type, floats[i]);
  } else {
    ASSIGN_OR_RETURN(const formats::IntArray ints, metadata.GetInts(entry.key));
    for (size_t i = 0; i < ints.size(); ++i) out.PutInt(entry.element_type, ints[i]);
  }
  return Ok();
}

Status PutValue(const Metadata& metadata, const MetadataEntry& entry, Bytes& out) {
  out.PutKey(entry.key, entry.type);
  if (entry.type == ValueType::kArray) return PutArray(metadata, entry, out);
  if (entry.type == ValueType::kString) {
    ASSIGN_OR_RETURN(const std::string_view text, metadata.GetString(entry.key));
    out.PutString(text);
  } else if (entry.type == ValueType::kBool) {
    ASSIGN_OR_RETURN(const bool value, metadata.GetBool(entry.key));
    out.Put(static_cast<uint8_t>(value));
  } else if (IsFloat(entry.type)) {
    ASSIGN_OR_RETURN(const double value, metadata.GetF64(entry.key));
    out.PutFloat(entry.type, value);
  } else if (entry.type == ValueType::kUint64) {
    ASSIGN_OR_RETURN(const uint64_t value, metadata.GetU64(entry.key));
    out.Put(value);
  } else {
    ASSIGN_OR_RETURN(const int64_t value, metadata.GetI64(entry.key));
    out.PutInt(entry.type, value);
  }
  return Ok();
}

bool IsReplaced(std::string_view key) {
  return key == kFileType || key == kQuantizationVersion || key.starts_with("split.");
}

}  // namespace

uint64_t BytesOf(const PlannedTensor& tensor) {
  const tensor::DTypeInfo& info = tensor::InfoOf(tensor.dtype);
  return tensor.source->columns() / info.block_elements * info.block_bytes * tensor.source->rows();
}

Result<GgufHeader> MakeHeader(const Metadata& metadata, uint64_t alignment, uint32_t file_type,
                              std::span<const PlannedTensor> tensors) {
  Bytes keys;
  uint64_t key_count = 2;
  for (size_t i = 0; i < metadata.size(); ++i) {
    const MetadataEntry entry = metadata.entry(i);
    if (IsReplaced(entry.key)) continue;
    const Status status = PutValue(metadata, entry, keys);
    if (!status.ok()) return Status(ErrorCode::kUnsupported, std::string(status.message()));
    ++key_count;
  }
  keys.PutKey(kFileType, ValueType::kUint32);
  keys.Put(file_type);
  keys.PutKey(kQuantizationVersion, ValueType::kUint32);
  keys.Put(kVersionOfBlocks);

  Bytes out;
  out.PutText("GGUF");
  out.Put(uint32_t{3});
  out.Put(uint64_t{tensors.size()});
  out.Put(key_count);
  GgufHeader header;
  header.bytes = out.Take();
  const std::vector<std::byte> key_bytes = keys.Take();
  header.bytes.insert(header.bytes.end(), key_bytes.begin(), key_bytes.end());
  Bytes table;
  uint64_t offset = 0;
  for (const PlannedTensor& tensor : tensors) {
    table.PutString(tensor.source->name);
    table.Put(uint32_t{tensor.source->dim_count});
    for (int i = 0; i < tensor.source->dim_count; ++i) {
      table.Put(tensor.source->dims[static_cast<size_t>(i)]);
    }
    table.Put(tensor::InfoOf(tensor.dtype).gguf_id);
    table.Put(offset);
    const uint64_t bytes = BytesOf(tensor);
    header.padding.push_back(RoundUp<uint64_t>(bytes, alignment) - bytes);
    offset += bytes + header.padding.back();
  }
  const std::vector<std::byte> table_bytes = table.Take();
  header.bytes.insert(header.bytes.end(), table_bytes.begin(), table_bytes.end());
  header.bytes.resize(RoundUp<uint64_t>(header.bytes.size(), alignment));
  return header;
}

}  // namespace skald::quantizer
