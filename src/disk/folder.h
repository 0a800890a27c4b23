/// Folder: the directory of a disk cache, and its files while they are open.
///
/// Prompts can be read out of K and V, so nobody but this user may look: the folder is made with
/// mode 0700, files have 0600, a folder of another user or one that others may write is refused,
/// and no link is followed. All files are opened when the folder is, and none later: a server that
/// has given up the right to open files (docs/security.md) goes on writing these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "skald/status.h"

namespace skald::disk {

/// A descriptor that closes. Move-only.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }
  /// 0 if the system does not say.
  uint64_t size() const;
  /// Fills `out` from `offset`. Errors: kIo, also if the file ends before.
  Status ReadAt(uint64_t offset, std::span<std::byte> out) const;
  /// Writes all of `bytes` at `offset`. Errors: kIo (the disk is full, it is broken); some of them
  /// may have been written.
  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes) const;
  /// Errors: kIo.
  Status CutTo(uint64_t size) const;

 private:
  int descriptor_ = -1;
};

/// Who may write: one process at a time.
enum class Access : uint8_t { kLook, kOwn };

/// Move-only; what it holds is let go of when it ends, or its process, however that ends.
class Folder {
 public:
  /// kOwn: makes the folder, if its parent is there, and locks it. Errors: kNotFound (kLook); kIo
  /// with the reason of the system; kInvalidArgument for a folder that is not safe to use;
  /// kUnavailable while another process owns it.
  static Result<Folder> Open(const std::string& path, Access access);

  /// Opens a file in it; with kOwn to read and write, and made if it is not there. Errors:
  /// kNotFound (kLook), kIo, kInvalidArgument for what is no plain file of this user.
  Result<OpenFile> OpenIn(const std::string& name) const;

  const std::string& path() const { return path_; }

 private:
  Folder(std::string path, Access access, OpenFile directory)
      : path_(std::move(path)), access_(access), directory_(std::move(directory)) {}

  std::string path_;
  Access access_;
  OpenFile directory_;
  OpenFile lock_;
};

}  // namespace skald::disk
