/// File: a regular file opened for reading, with every failure as a Status.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "skald/status.h"

namespace skald {

/// Owns the descriptor of one regular file. Move-only.
///
/// Reads go through pread, not through a mapping: a mapped file that another process truncates
/// kills the reader with SIGBUS, a pread of it is a short read and so an error like any other
/// (docs/decisions/0002-reading-model-files.md). One call costs a copy at memory speed plus about
/// a microsecond, so callers read blocks of 64 KiB and more.
class File final : public ByteSource {
 public:
  /// Opens `path` read-only. Never blocks and never follows the file into a device: a directory,
  /// FIFO, socket or device is refused after fstat, before any read. Errors: kNotFound if nothing
  /// is there; kIo for everything else the system refuses, with its reason; both name the path.
  static Result<File> Open(const std::string& path);

  ~File() override;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// The size found when the file was opened. Later reads beyond a size that has shrunk since are
  /// errors; bytes appended since are not seen.
  uint64_t size() const override { return size_; }

  /// The path as given to Open.
  std::string_view name() const override { return path_; }

  /// See ByteSource. Retries interrupted and partial reads.
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const override;

  /// See ByteSource. Whole pages of the page cache are given back; those at the ends of the range
  /// stay, and so do pages that another process has mapped.
  void DropFromCache(uint64_t offset, uint64_t length) const override;

 private:
  File(int descriptor, uint64_t size, std::string path);

  int descriptor_ = -1;
  uint64_t size_ = 0;
  std::string path_;
};

}  // namespace skald
