/// MetadataWriter: makes a Metadata from values, for models whose keys do not stand in a GGUF file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "formats/metadata_builder.h"
#include "skald/status.h"

namespace skald::formats {

/// Keys come out in the order they were set. Requires keys of 1 to 65,535 bytes, and less than
/// 4 GiB of keys and values together.
class MetadataWriter {
 public:
  void SetInt(std::string_view key, int64_t value);
  void SetFloat(std::string_view key, float value);
  void SetBool(std::string_view key, bool value);
  void SetString(std::string_view key, std::string_view value);
  void SetInts(std::string_view key, std::span<const int64_t> values);
  void SetFloats(std::string_view key, std::span<const float> values);
  void SetBools(std::string_view key, std::span<const bool> values);
  void SetStrings(std::string_view key, std::span<const std::string_view> values);

  /// Errors: kBadModel if a key was set twice.
  Result<Metadata> Finish() &&;

 private:
  MetadataBuilder::Range Put(const void* data, size_t count);
  void Add(std::string_view key, ValueType type, MetadataBuilder::Range value);
  template <typename T>
  void AddArray(std::string_view key, ValueType type, std::span<const T> values);

  std::vector<std::byte> bytes_;
  MetadataBuilder builder_;
};

}  // namespace skald::formats
