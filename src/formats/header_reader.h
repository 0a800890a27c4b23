/// HeaderReader: takes the header of a model file apart, front to back. For the parsers of this
/// room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/byte_reader.h"
#include "base/byte_source.h"
#include "skald/status.h"

namespace skald::formats {

/// Copies the front of a ByteSource into one block of memory, as far as the parser asks, and hands
/// out pieces of it. The block never moves, so pieces stay valid as long as bytes() lives.
///
/// Memory: address space for the largest header allowed (or the whole file if it is smaller) is
/// reserved at once; what the parser does not reach is never touched and so costs nothing.
class HeaderReader {
 public:
  /// `source` must outlive the reader. Errors: kResourceExhausted if the block is refused.
  static Result<HeaderReader> Create(const ByteSource& source, uint64_t header_bytes_max);

  /// Bytes taken so far: the offset in the file of the next one. Fits 32 bits.
  uint64_t offset() const { return offset_; }
  /// Bytes of the file not taken yet.
  uint64_t remaining() const { return source_->size() - offset_; }
  /// The block. Bytes from offset() on are not to be read.
  const std::shared_ptr<std::byte[]>& bytes() const { return bytes_; }

  /// The next `count` bytes; `count` may be any number from the file. Errors: kBadModel if the file
  /// ends first ("ends inside WHAT") or the header becomes too long; kIo if reading fails.
  Result<std::span<const std::byte>> Take(uint64_t count, std::string_view what);

  /// The next sizeof(T) bytes as a number. Errors as Take.
  template <FileNumber T>
  Result<T> Read(std::string_view what) {
    auto taken = Take(sizeof(T), what);
    if (!taken.ok()) return std::move(taken).status();
    return *ByteReader(*taken).Read<T>();
  }

 private:
  HeaderReader(const ByteSource& source, std::shared_ptr<std::byte[]> bytes, uint64_t capacity)
      : source_(&source), bytes_(std::move(bytes)), capacity_(capacity) {}

  Status Fill(uint64_t end);

  const ByteSource* source_;
  std::shared_ptr<std::byte[]> bytes_;
  uint64_t capacity_;
  uint64_t filled_ = 0;  // offset_ <= filled_ <= capacity_
  uint64_t offset_ = 0;
};

}  // namespace skald::formats
