/// OutputFile: a file that appears under its name whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "skald/status.h"

namespace skald::cli {

/// Bytes go to a temporary file beside the target, which Commit renames over it: a full disk, an
/// error or Ctrl-C leaves the target as it was. A target that exists and is no regular file (a
/// device, a pipe) cannot be replaced by renaming and is written directly. Move-only.
class OutputFile {
 public:
  /// Opens `path` for writing; "-" is stdout. Errors: kIo with the path and the system's reason.
  static Result<OutputFile> Create(const std::string& path);

  /// Removes what was written, unless committed.
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends. Errors: kIo ("No space left on device"), kCancelled (a pipe whose reader has gone).
  Status Write(std::string_view bytes);

  /// Flushes to the disk and gives the file its name. Errors: kIo. Nothing may be written after.
  Status Commit();

 private:
  OutputFile() = default;
  void Discard();

  std::string path_;       // as given, for messages
  std::string target_;     // the name to rename to, symbolic links resolved
  std::string temporary_;  // empty if written directly
  int descriptor_ = -1;
};

}  // namespace skald::cli
