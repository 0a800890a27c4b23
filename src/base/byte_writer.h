/// ByteWriter: appends little-endian numbers and texts to bytes, as ByteReader reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"

namespace skald {

class ByteWriter {
 public:
  template <FileNumber T>
  ByteWriter& Put(T value) {
    return Append(&value, sizeof(value));
  }
  /// Numbers one behind the other, without their count.
  template <FileNumber T>
  ByteWriter& PutEach(std::span<const T> values) {
    return Append(values.data(), values.size_bytes());
  }
  ByteWriter& Bytes(std::string_view bytes) { return Append(bytes.data(), bytes.size()); }
  ByteWriter& Bytes(std::span<const std::byte> bytes) { return Append(bytes.data(), bytes.size()); }
  /// A 64-bit length, then the bytes.
  ByteWriter& String(std::string_view text) { return Put(uint64_t{text.size()}).Bytes(text); }
  ByteWriter& PadTo(size_t alignment) {
    while (bytes_.size() % alignment != 0) bytes_.push_back(std::byte{0});
    return *this;
  }

  size_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  /// Empty again, with the memory it had.
  void Clear() { bytes_.clear(); }

 private:
  ByteWriter& Append(const void* from, size_t count) {
    const size_t at = bytes_.size();
    bytes_.resize(at + count);
    if (count > 0) std::memcpy(bytes_.data() + at, from, count);
    return *this;
  }

  std::vector<std::byte> bytes_;
};

}  // namespace skald
