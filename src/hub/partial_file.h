/// PartialFile: a file of which ranges have come, and which a later process can go on with.
///
/// Beside the target lie `NAME.partial` with the bytes, `NAME.partial.state` with what has come,
/// and `NAME.lock`, which one process at a time holds. The names are not those of other programs
/// that share the folder: they take the length of an unfinished file for what has come.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"

namespace skald::hub {

/// A part of a file that one connection fetches. What has come of it is its front.
struct Segment {
  int64_t first = 0;  ///< byte of the file
  int64_t bytes = 0;
  int64_t done = 0;
};

/// What must be equal for two halves to be of one file.
struct FileIdentity {
  int64_t bytes = 0;
  std::string tag;  ///< a hash or an ETag; empty: nothing is known, so nothing is gone on with
};

/// The lock of a target, released with the object. Move-only.
class FileLock {
 public:
  /// Waits until no other process holds it, or `stop` says so. Calls `stop` ten times a second.
  /// Errors: kIo; kCancelled.
  static Result<FileLock> Take(const std::string& target, const std::function<bool()>& stop);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

/// See above. Move-only. The caller holds the lock of the target.
class PartialFile {
 public:
  /// Opens what is there of that identity, or begins anew. Errors: kIo; kResourceExhausted if the
  /// disk has less room than lacks.
  static Result<PartialFile> Open(const std::string& target, const FileIdentity& identity);
  ~PartialFile();
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;

  std::vector<Segment>& segments() { return segments_; }
  int64_t done_bytes() const;

  /// Writes behind what has come of a segment. Errors: kIo.
  Status Append(Segment& segment, std::string_view bytes);
  /// Forgets what has come of a segment: the other side cannot send the rest alone.
  void Restart(Segment& segment) { segment.done = 0; }
  /// Makes what has come survive this process. Errors: kIo.
  Status Save();
  /// The SHA-256 of the whole file. `go_on` is called with the bytes read; false cancels.
  Result<std::string> Hash(const std::function<bool(int64_t done_bytes)>& go_on) const;
  /// Gives the whole file its name. Errors: kIo.
  Status Commit();
  /// Removes what has come.
  void Discard();

 private:
  PartialFile(std::string target, FileIdentity identity, int descriptor);
  std::string path() const { return target_ + ".partial"; }
  std::string state_path() const { return target_ + ".partial.state"; }
  void ReadState();
  Status CheckRoom() const;

  std::string target_;
  FileIdentity identity_;
  int descriptor_;
  std::vector<Segment> segments_;
};

/// Makes something beside `path` under a name that nobody else has made, and returns the name.
/// `make` returns less than 0 and sets errno to EEXIST if there is something of that name.
/// Errors: kIo.
Result<std::string> MakeBeside(const std::string& path,
                               const std::function<int(const char* name)>& make);
/// Gives what `from` names the name `to`, in place of what has it. If it fails, `from` is removed.
/// Errors: kIo.
Status Rename(const std::string& from, const std::string& to);
/// Writes a small file so that it is whole or not there, whoever else writes it at the same time.
/// Errors: kIo.
Status WriteSmallFile(const std::string& path, std::string_view text);
/// Reads at most `most_bytes` of a file; empty if it is not there.
std::string ReadSmallFile(const std::string& path, size_t most_bytes);

}  // namespace skald::hub
