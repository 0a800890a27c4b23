/// ByteSource: bytes that can be read at any offset, from a file or from memory.
///
/// Parsers take a ByteSource so that the same code reads a 50 GB file and a literal in a test, and
/// so that a test can make any single read fail. Reading copies into memory the caller owns:
/// nothing handed out by a parser depends on the file still being there or still having its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/status.h"

namespace skald {

/// A fixed number of bytes, readable at random. Reads from several threads at once are allowed.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// The number of bytes when the source was opened.
  virtual uint64_t size() const = 0;

  /// What to call the source in messages: a path, or a name chosen by a test.
  virtual std::string_view name() const = 0;

  /// Fills all of `out` with the bytes that start at `offset`, or returns an error and leaves `out`
  /// in an unspecified state: there are no short reads. Errors: kIo, saying offset, bytes expected
  /// and bytes got, if the range is not (or no longer) inside the source or the system refuses. The
  /// message does not hold name(); callers add it where they add what they were reading.
  virtual Status ReadAt(uint64_t offset, std::span<std::byte> out) const = 0;

  /// Tells the system that `length` bytes from `offset` will not be read again: it need not keep a
  /// copy of them. Advice, without effect on results; a source without such copies ignores it.
  virtual void DropFromCache(uint64_t /*offset*/, uint64_t /*length*/) const {}
};

/// A ByteSource over bytes it owns.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::vector<std::byte> bytes, std::string name = "memory")
      : bytes_(std::move(bytes)), name_(std::move(name)) {}

  uint64_t size() const override { return bytes_.size(); }
  std::string_view name() const override { return name_; }
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::vector<std::byte> bytes_;
  std::string name_;
};

}  // namespace skald
