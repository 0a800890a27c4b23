/// ByteReader: a bounded cursor over little-endian bytes.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace skald {

static_assert(
    std::endian::native == std::endian::little,
    "skald reads little-endian files by copying; a big-endian port needs byte swaps here");

/// A number that stands in a file as its own little-endian bytes. bool is left out: a byte 2 is not
/// a bool, so callers read a uint8_t and decide.
template <typename T>
concept FileNumber = (std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>;

/// Reads numbers and byte runs from the front of a span. A read that does not fit returns nothing
/// and leaves the cursor where it was; no read touches a byte outside the span, and none allocates.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Bytes read so far.
  size_t offset() const { return offset_; }
  /// Bytes not read yet.
  size_t remaining() const { return bytes_.size() - offset_; }

  /// The next sizeof(T) bytes as a number, whatever their alignment.
  template <FileNumber T>
  std::optional<T> Read() {
    if (remaining() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  /// The next `count` bytes. `count` may be any 64-bit number from a file.
  std::optional<std::span<const std::byte>> Take(uint64_t count) {
    if (count > remaining()) return std::nullopt;
    const auto taken = bytes_.subspan(offset_, static_cast<size_t>(count));
    offset_ += taken.size();
    return taken;
  }

  /// A 64-bit length and as many bytes, at most `most`: what ByteWriter::String appends.
  std::optional<std::string_view> ReadString(uint64_t most) {
    ByteReader ahead = *this;
    const auto length = ahead.Read<uint64_t>();
    if (!length || *length > most) return std::nullopt;
    const auto bytes = ahead.Take(*length);
    if (!bytes) return std::nullopt;
    *this = ahead;
    return std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }

 private:
  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
};

}  // namespace skald
