/// GgufBuilder: makes small GGUF files from literals. For tests and fuzzers of any room only.
///
/// It writes what it is told, also nonsense: a test states a file by its fields, and a wrong one by
/// setting the field that is wrong. Keys and tensors come out in the order they were added.
///
///     const auto bytes = GgufBuilder()
///                            .Key("general.architecture", "llama")
///                            .Key("llama.block_count", uint32_t{2})
///                            .Tensor({.name = "token_embd.weight", .dims = {32, 8}})
///                            .Build();
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/byte_writer.h"
#include "formats/metadata.h"
#include "tensor/dtype.h"

namespace skald::formats {

/// One tensor of the file to build. Fields left out get the value that makes the file valid.
struct BuiltTensor {
  std::string name;
  std::vector<uint64_t> dims;
  uint32_t type_id = 0;  ///< GGUF's number; 0 is F32
  std::optional<std::vector<std::byte>> data =
      std::nullopt;                               ///< default: zeros, as many as type and dims need
  std::optional<uint64_t> offset = std::nullopt;  ///< default: the aligned end of the one before
  std::optional<uint32_t> dim_count = std::nullopt;  ///< default: dims.size()
};

class GgufBuilder {
 public:
  // Fields of the preamble that a test may set wrong.
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> key_count;
  std::optional<uint64_t> tensor_count;
  uint64_t alignment = 32;  ///< of the layout; does not add the key

  /// A scalar. T is exactly the type written: uint32_t{2} is a uint32, bool a bool.
  template <typename T>
  requires std::is_arithmetic_v<T> GgufBuilder& Key(std::string_view name, T value) {
    RawKey(name, TypeOf<T>());
    PutNumber(value);
    return *this;
  }
  GgufBuilder& Key(std::string_view name, std::string_view value) {
    RawKey(name, ValueType::kString);
    keys_.String(value);
    return *this;
  }
  GgufBuilder& Key(std::string_view name, const char* value) {
    return Key(name, std::string_view(value));
  }
  template <typename T>
  requires std::is_arithmetic_v<T> GgufBuilder& Key(std::string_view name,
                                                    const std::vector<T>& values) {
    RawArray(name, TypeOf<T>(), values.size());
    for (const T value : values) PutNumber(value);
    return *this;
  }
  GgufBuilder& Key(std::string_view name, const std::vector<std::string>& values) {
    RawArray(name, ValueType::kString, values.size());
    for (const std::string& value : values) keys_.String(value);
    return *this;
  }

  /// A key whose value's bytes are given, right or wrong.
  GgufBuilder& RawKey(std::string_view name, uint32_t type, const ByteWriter& value) {
    RawKey(name, type);
    keys_.Bytes({reinterpret_cast<const char*>(value.bytes().data()), value.size()});
    return *this;
  }

  GgufBuilder& Tensor(BuiltTensor tensor) {
    tensors_.push_back(std::move(tensor));
    return *this;
  }

  /// Everything before the data section, without padding.
  std::vector<std::byte> BuildHeader() const {
    ByteWriter out;
    out.Bytes(magic).Put(version).Put(tensor_count.value_or(tensors_.size()));
    out.Put(key_count.value_or(keys_added_));
    out.Bytes({reinterpret_cast<const char*>(keys_.bytes().data()), keys_.size()});
    uint64_t offset = 0;
    for (const BuiltTensor& tensor : tensors_) {
      out.String(tensor.name);
      out.Put(tensor.dim_count.value_or(static_cast<uint32_t>(tensor.dims.size())));
      for (const uint64_t dim : tensor.dims) out.Put(dim);
      out.Put(tensor.type_id).Put(tensor.offset.value_or(offset));
      offset += (DataOf(tensor).size() + alignment - 1) / alignment * alignment;
    }
    return out.bytes();
  }

  /// The whole file. The last tensor is not padded.
  std::vector<std::byte> Build() const {
    ByteWriter out;
    const auto put = [&out](const std::vector<std::byte>& bytes) {
      out.Bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    put(BuildHeader());
    for (const BuiltTensor& tensor : tensors_) {
      out.PadTo(alignment);
      put(DataOf(tensor));
    }
    return out.bytes();
  }

  MemorySource BuildSource(std::string name = "test.gguf") const {
    return MemorySource(Build(), std::move(name));
  }

 private:
  template <typename T>
  static constexpr ValueType TypeOf() {
    if constexpr (std::is_same_v<T, bool>) return ValueType::kBool;
    if constexpr (std::is_same_v<T, float>) return ValueType::kFloat32;
    if constexpr (std::is_same_v<T, double>) return ValueType::kFloat64;
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? ValueType::kInt8 : ValueType::kUint8;
    if constexpr (sizeof(T) == 2)
      return std::is_signed_v<T> ? ValueType::kInt16 : ValueType::kUint16;
    if constexpr (sizeof(T) == 4)
      return std::is_signed_v<T> ? ValueType::kInt32 : ValueType::kUint32;
    return std::is_signed_v<T> ? ValueType::kInt64 : ValueType::kUint64;
  }

  void RawKey(std::string_view name, uint32_t type) {
    keys_.String(name).Put(type);
    ++keys_added_;
  }
  void RawKey(std::string_view name, ValueType type) { RawKey(name, static_cast<uint32_t>(type)); }
  void RawArray(std::string_view name, ValueType type, size_t count) {
    RawKey(name, ValueType::kArray);
    keys_.Put(static_cast<uint32_t>(type)).Put(uint64_t{count});
  }
  template <typename T>
  void PutNumber(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      keys_.Put(static_cast<uint8_t>(value));
    } else {
      keys_.Put(value);
    }
  }

  // The tensor's data; for types and dims without a size in reason, nothing.
  static std::vector<std::byte> DataOf(const BuiltTensor& tensor) {
    if (tensor.data) return *tensor.data;
    const auto dtype = tensor::DTypeFromGguf(tensor.type_id);
    if (!dtype) return {};
    constexpr uint64_t kZerosMax = 1 << 20;
    uint64_t bytes = tensor::InfoOf(*dtype).block_bytes;
    uint64_t divisor = tensor::InfoOf(*dtype).block_elements;
    for (const uint64_t dim : tensor.dims) {
      if (dim > kZerosMax || bytes * dim > kZerosMax * divisor) return {};
      bytes *= dim;
    }
    return std::vector<std::byte>(bytes / divisor);
  }

  ByteWriter keys_;
  uint64_t keys_added_ = 0;
  std::vector<BuiltTensor> tensors_;
};

}  // namespace skald::formats
