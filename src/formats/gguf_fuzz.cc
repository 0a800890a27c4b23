// Fuzz target of the GGUF reader. Besides not dying, an accepted file must keep its promises: every
// tensor's bytes inside the file and disjoint, every name and key found again, and the header
// written back from what was read equal to the header that was read, byte for byte. Reading takes
// memory and time in proportion to the bytes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/check.h"
#include "formats/gguf.h"
#include "formats/gguf_builder.h"
#include "support/cost.h"

namespace skald::formats {
namespace {

template <typename T>
T Get(Result<T> result) {
  CHECK(result.ok());
  return *std::move(result);
}

// Appends integers as T.
template <typename T>
void AddInts(const Metadata& metadata, const MetadataEntry& entry, GgufBuilder& builder) {
  const IntArray ints = Get(metadata.GetInts(entry.key));
  CHECK(ints.size() == entry.count);
  std::vector<T> values;
  for (size_t i = 0; i < ints.size(); ++i) values.push_back(static_cast<T>(ints[i]));
  builder.Key(entry.key, values);
}

template <typename T>
bool AddFloats(const Metadata& metadata, const MetadataEntry& entry, GgufBuilder& builder) {
  const FloatArray floats = Get(metadata.GetFloats(entry.key));
  std::vector<T> values;
  for (size_t i = 0; i < floats.size(); ++i) values.push_back(static_cast<T>(floats[i]));
  builder.Key(entry.key, values);
  return std::none_of(values.begin(), values.end(), [](T value) { return std::isnan(value); });
}

// Appends one array. False if it holds something the getters do not hand out bit for bit.
bool AddArray(const Metadata& metadata, const MetadataEntry& entry, GgufBuilder& builder) {
  switch (entry.element_type) {
    case ValueType::kUint8: AddInts<uint8_t>(metadata, entry, builder); return true;
    case ValueType::kInt8: AddInts<int8_t>(metadata, entry, builder); return true;
    case ValueType::kUint16: AddInts<uint16_t>(metadata, entry, builder); return true;
    case ValueType::kInt16: AddInts<int16_t>(metadata, entry, builder); return true;
    case ValueType::kUint32: AddInts<uint32_t>(metadata, entry, builder); return true;
    case ValueType::kInt32: AddInts<int32_t>(metadata, entry, builder); return true;
    case ValueType::kInt64: AddInts<int64_t>(metadata, entry, builder); return true;
    case ValueType::kUint64:
      if (!metadata.GetInts(entry.key).ok()) return false;
      AddInts<uint64_t>(metadata, entry, builder);
      return true;
    case ValueType::kBool: {
      const IntArray ints = Get(metadata.GetInts(entry.key));
      ByteWriter value;
      value.Put(static_cast<uint32_t>(ValueType::kBool)).Put(uint64_t{ints.size()});
      for (size_t i = 0; i < ints.size(); ++i) value.Put(static_cast<uint8_t>(ints[i]));
      builder.RawKey(entry.key, static_cast<uint32_t>(ValueType::kArray), value);
      return true;
    }
    case ValueType::kFloat32: return AddFloats<float>(metadata, entry, builder);
    case ValueType::kFloat64: return AddFloats<double>(metadata, entry, builder);
    case ValueType::kString: {
      const StringArray strings = Get(metadata.GetStrings(entry.key));
      std::vector<std::string> values(strings.begin(), strings.end());
      CHECK(values.size() == entry.count);
      builder.Key(entry.key, values);
      return true;
    }
    case ValueType::kArray: break;
  }
  UNREACHABLE();
}

// Appends one key. False as AddArray.
bool AddKey(const Metadata& metadata, const MetadataEntry& entry, GgufBuilder& builder) {
  const auto key = entry.key;
  const auto as_int = [&] { return Get(metadata.GetI64(key)); };
  switch (entry.type) {
    case ValueType::kUint8: builder.Key(key, static_cast<uint8_t>(as_int())); return true;
    case ValueType::kInt8: builder.Key(key, static_cast<int8_t>(as_int())); return true;
    case ValueType::kUint16: builder.Key(key, static_cast<uint16_t>(as_int())); return true;
    case ValueType::kInt16: builder.Key(key, static_cast<int16_t>(as_int())); return true;
    case ValueType::kUint32: builder.Key(key, static_cast<uint32_t>(as_int())); return true;
    case ValueType::kInt32: builder.Key(key, static_cast<int32_t>(as_int())); return true;
    case ValueType::kInt64: builder.Key(key, as_int()); return true;
    case ValueType::kUint64: builder.Key(key, Get(metadata.GetU64(key))); return true;
    case ValueType::kBool: builder.Key(key, Get(metadata.GetBool(key))); return true;
    case ValueType::kString: builder.Key(key, Get(metadata.GetString(key))); return true;
    case ValueType::kFloat32: {
      const auto value = static_cast<float>(Get(metadata.GetF64(key)));
      builder.Key(key, value);
      return !std::isnan(value);
    }
    case ValueType::kFloat64: {
      const double value = Get(metadata.GetF64(key));
      builder.Key(key, value);
      return !std::isnan(value);
    }
    case ValueType::kArray: return AddArray(metadata, entry, builder);
  }
  UNREACHABLE();
}

void CheckTensors(const GgufFile& file, uint64_t file_bytes) {
  uint64_t end = file.data_begin;
  for (const TensorInfo& tensor : file.tensors.all()) {
    CHECK(tensor.offset >= end && tensor.byte_count > 0);
    CHECK(tensor.byte_count <= file_bytes && tensor.offset <= file_bytes - tensor.byte_count);
    CHECK(tensor.row_bytes() * tensor.rows() == tensor.byte_count);
    CHECK(tensor.columns() % tensor::InfoOf(tensor.dtype).block_elements == 0);
    CHECK(file.tensors.Find(tensor.name) == &tensor);
    end = tensor.offset + tensor.byte_count;
  }
}

void CheckAccepted(const GgufFile& file, const std::vector<std::byte>& bytes) {
  CheckTensors(file, bytes.size());
  GgufBuilder builder;
  builder.version = file.version;
  builder.alignment = file.alignment;
  bool exact = true;
  for (size_t i = 0; i < file.metadata.size(); ++i) {
    const MetadataEntry entry = file.metadata.entry(i);
    CHECK(file.metadata.Contains(entry.key));
    CHECK(!file.metadata.Describe(i, 60).empty());
    exact = AddKey(file.metadata, entry, builder) && exact;
  }
  for (const TensorInfo& tensor : file.tensors.all()) {
    builder.Tensor({.name = std::string(tensor.name),
                    .dims = {tensor.dims.begin(), tensor.dims.begin() + tensor.dim_count},
                    .type_id = tensor::InfoOf(tensor.dtype).gguf_id});
  }
  const std::vector<std::byte> header = builder.BuildHeader();
  CHECK(!exact ||
        (header.size() <= bytes.size() && std::equal(header.begin(), header.end(), bytes.begin())));
}

}  // namespace
}  // namespace skald::formats

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skald;
  using namespace skald::formats;
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> bytes(begin, begin + size);
  const MemorySource source(bytes);
  std::optional<Result<GgufFile>> parsed;
  const test::Cost cost = test::CostOf([&] { parsed.emplace(ParseGguf(source)); });
  const Result<GgufFile>& file = *parsed;
  // What gguf.h promises, and a message; with the sanitizers and on a busy machine.
  CHECK(cost.peak_bytes < 4 * static_cast<int64_t>(size) + (64 << 10));
  CHECK(cost.cpu_seconds < 0.5 + 20e-6 * static_cast<double>(size));
  if (!file.ok()) {
    CHECK(!file.status().message().empty());
    CHECK(file.status().message().find('\n') == std::string::npos);
    return 0;
  }
  CheckAccepted(*file, bytes);
  std::vector<std::unique_ptr<ByteSource>> parts;
  parts.push_back(std::make_unique<MemorySource>(bytes));
  const Result<GgufModel> model = GgufModel::FromSources(std::move(parts));
  if (!model.ok()) return 0;
  for (const TensorInfo& tensor : model->tensors().all()) {
    std::vector<std::byte> row(tensor.row_bytes());
    CHECK(model->ReadTensor(tensor, tensor.byte_count - row.size(), row).ok());
  }
  return 0;
}
