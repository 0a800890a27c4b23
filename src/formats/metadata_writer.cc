#include "formats/metadata_writer.h"

#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "base/check.h"

namespace skald::formats {

MetadataBuilder::Range MetadataWriter::Put(const void* data, size_t count) {
  CHECK(count <= std::numeric_limits<uint32_t>::max() - bytes_.size());
  const MetadataBuilder::Range range = {static_cast<uint32_t>(bytes_.size()),
                                        static_cast<uint32_t>(count)};
  const auto* begin = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), begin, begin + count);
  return range;
}

void MetadataWriter::Add(std::string_view key, ValueType type, MetadataBuilder::Range value) {
  CHECK(!key.empty() && key.size() <= std::numeric_limits<uint16_t>::max());
  builder_.Add(Put(key.data(), key.size()),
               {.type = type, .element_type = type, .range = value, .count = 1});
}

template <typename T>
void MetadataWriter::AddArray(std::string_view key, ValueType type, std::span<const T> values) {
  const MetadataBuilder::Range range = Put(values.data(), values.size_bytes());
  builder_.Add(Put(key.data(), key.size()), {.type = ValueType::kArray,
                                             .element_type = type,
                                             .range = range,
                                             .count = static_cast<uint32_t>(values.size())});
}

void MetadataWriter::SetInt(std::string_view key, int64_t value) {
  Add(key, ValueType::kInt64, Put(&value, sizeof(value)));
}

void MetadataWriter::SetFloat(std::string_view key, float value) {
  Add(key, ValueType::kFloat32, Put(&value, sizeof(value)));
}

void MetadataWriter::SetBool(std::string_view key, bool value) {
  const uint8_t byte = value ? 1 : 0;
  Add(key, ValueType::kBool, Put(&byte, 1));
}

void MetadataWriter::SetString(std::string_view key, std::string_view value) {
  Add(key, ValueType::kString, Put(value.data(), value.size()));
}

void MetadataWriter::SetInts(std::string_view key, std::span<const int64_t> values) {
  AddArray(key, ValueType::kInt64, values);
}

void MetadataWriter::SetFloats(std::string_view key, std::span<const float> values) {
  AddArray(key, ValueType::kFloat32, values);
}

void MetadataWriter::SetBools(std::string_view key, std::span<const bool> values) {
  AddArray(key, ValueType::kBool, values);
}

// As in the file: a 64-bit length before each (StringArray reads them so).
void MetadataWriter::SetStrings(std::string_view key, std::span<const std::string_view> values) {
  const auto begin = static_cast<uint32_t>(bytes_.size());
  for (const std::string_view value : values) {
    const uint64_t length = value.size();
    Put(&length, sizeof(length));
    Put(value.data(), value.size());
  }
  const MetadataBuilder::Range range = {begin, static_cast<uint32_t>(bytes_.size()) - begin};
  builder_.Add(Put(key.data(), key.size()), {.type = ValueType::kArray,
                                             .element_type = ValueType::kString,
                                             .range = range,
                                             .count = static_cast<uint32_t>(values.size())});
}

Result<Metadata> MetadataWriter::Finish() && {
  const auto bytes = std::make_shared<std::byte[]>(bytes_.size() + 1);  // +1: never of none
  if (!bytes_.empty()) std::memcpy(bytes.get(), bytes_.data(), bytes_.size());
  return std::move(builder_).Finish(bytes);
}

}  // namespace skald::formats
