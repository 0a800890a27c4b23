#include "hub/partial_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/checked_math.h"
#include "base/sha256.h"
#include "base/status_macros.h"

namespace skald::hub {
namespace {

// Large enough that a request costs nothing beside it, small enough that several connections have
// work near the end of a file.
constexpr int64_t kSegmentBytes = int64_t{16} << 20;
constexpr int64_t kMostSegments = int64_t{1} << 16;
constexpr size_t kStateBytes = size_t{2} << 20;
constexpr std::string_view kStateMark = "skald partial 1";

Status SystemError(const std::string& what, int error) {
  return Status(ErrorCode::kIo, what + ": " + std::generic_category().message(error));
}

std::vector<Segment> Cut(int64_t bytes) {
  const int64_t each = std::max(kSegmentBytes, DivCeil(bytes, kMostSegments));
  std::vector<Segment> segments;
  for (int64_t first = 0; first < bytes; first += each)
    segments.push_back({.first = first, .bytes = std::min(each, bytes - first)});
  return segments;
}

std::string_view NextLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

}  // namespace

Result<FileLock> FileLock::Take(const std::string& target, const std::function<bool()>& stop) {
  const std::string path = target + ".lock";
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return SystemError(path + ": cannot open", errno);
  FileLock lock(descriptor);
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return SystemError(path + ": cannot lock", errno);
    if (stop && stop()) return Status(ErrorCode::kCancelled, "stopped");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return lock;
}

FileLock::~FileLock() {
  // The file stays: who removed it could remove the one that a third process has just locked.
  if (descriptor_ >= 0) close(descriptor_);
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

PartialFile::PartialFile(std::string target, FileIdentity identity, int descriptor)
    : target_(std::move(target)),
      identity_(std::move(identity)),
      descriptor_(descriptor),
      segments_(Cut(identity_.bytes)) {}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : target_(std::move(other.target_)),
      identity_(std::move(other.identity_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      segments_(std::move(other.segments_)) {}

Result<PartialFile> PartialFile::Open(const std::string& target, const FileIdentity& identity) {
  const std::string path = target + ".partial";
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return SystemError(path + ": cannot open", errno);
  PartialFile file(target, identity, descriptor);
  file.ReadState();
  if (file.done_bytes() == 0 && ftruncate(descriptor, 0) != 0)
    return SystemError(path + ": cannot empty", errno);
  RETURN_IF_ERROR(file.CheckRoom());
  return file;
}

// A state that is not of this file, or not whole, counts as none: the bytes come again.
void PartialFile::ReadState() {
  const std::string text = ReadSmallFile(state_path(), kStateBytes);
  std::string_view rest = text;
  if (identity_.tag.empty() || NextLine(&rest) != kStateMark) return;
  if (NextLine(&rest) != std::to_string(identity_.bytes) || NextLine(&rest) != identity_.tag)
    return;
  std::vector<Segment> segments = segments_;
  for (Segment& segment : segments) {
    const std::string_view line = NextLine(&rest);
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), segment.done);
    if (error != std::errc() || end != line.data() + line.size()) return;
    if (segment.done < 0 || segment.done > segment.bytes) return;
  }
  if (NextLine(&rest) != "end") return;
  // Whoever cut the file short made the state a lie.
  const off_t size = lseek(descriptor_, 0, SEEK_END);
  for (const Segment& segment : segments)
    if (segment.done > 0 && segment.first + segment.done > size) return;
  segments_ = std::move(segments);
}

Status PartialFile::CheckRoom() const {
  struct statvfs disk = {};
  if (fstatvfs(descriptor_, &disk) != 0) return Ok();  // then writing will say
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  const auto lacking = static_cast<uint64_t>(identity_.bytes - done_bytes());
  if (lacking <= free_bytes) return Ok();
  return Status(ErrorCode::kResourceExhausted,
                target_ + ": needs " + std::to_string(lacking >> 20) + " MiB, the disk has " +
                    std::to_string(free_bytes >> 20) + " MiB free");
}

int64_t PartialFile::done_bytes() const {
  int64_t bytes = 0;
  for (const Segment& segment : segments_) bytes += segment.done;
  return bytes;
}

Status PartialFile::Append(Segment& segment, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), bytes.size(), segment.first + segment.done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(path() + ": cannot write", errno);
    segment.done += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return Ok();
}

Status PartialFile::Save() {
  // The bytes before the state that promises them.
  if (fdatasync(descriptor_) != 0) return SystemError(path() + ": cannot write", errno);
  std::string text(kStateMark);
  text += '\n' + std::to_string(identity_.bytes) + '\n' + identity_.tag + '\n';
  for (const Segment& segment : segments_) text += std::to_string(segment.done) + '\n';
  return WriteSmallFile(state_path(), text + "end\n");
}

Result<std::string> PartialFile::Hash(const std::function<bool(int64_t)>& go_on) const {
  Sha256 hash;
  std::string block(size_t{1} << 20, '\0');
  for (int64_t done = 0; done < identity_.bytes;) {
    const auto wanted =
        static_cast<size_t>(std::min<int64_t>(identity_.bytes - done, std::ssize(block)));
    const ssize_t got = pread(descriptor_, block.data(), wanted, done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return SystemError(path() + ": cannot read", got < 0 ? errno : EIO);
    hash.Add({block.data(), static_cast<size_t>(got)});
    done += got;
    if (!go_on(done)) return Status(ErrorCode::kCancelled, "stopped");
  }
  return hash.Take();
}

Status PartialFile::Commit() {
  if (fsync(descriptor_) != 0) return SystemError(path() + ": cannot write", errno);
  if (rename(path().c_str(), target_.c_str()) != 0)
    return SystemError(target_ + ": cannot name", errno);
  unlink(state_path().c_str());
  return Ok();
}

void PartialFile::Discard() {
  unlink(path().c_str());
  unlink(state_path().c_str());
}

Result<std::string> MakeBeside(const std::string& path,
                               const std::function<int(const char* name)>& make) {
  for (int n = 0;; ++n) {
    std::string name = path + ".new." + std::to_string(n);
    if (make(name.c_str()) >= 0) return name;
    // Of another process, perhaps one that was killed: it may still write, so its name stays its.
    if (errno != EEXIST) return SystemError(name + ": cannot make", errno);
  }
}

Status Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return Ok();
  const int error = errno;
  unlink(from.c_str());
  return SystemError(to + ": cannot name", error);
}

Status WriteSmallFile(const std::string& path, std::string_view text) {
  ASSIGN_OR_RETURN(const std::string name, MakeBeside(path, [](const char* file) {
                     const int made = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
                     return made < 0 ? made : close(made);
                   }));
  std::ofstream file(name, std::ios::binary);
  file.write(text.data(), std::ssize(text));
  file.close();
  if (file) return Rename(name, path);
  const int error = errno;
  unlink(name.c_str());
  return SystemError(name + ": cannot write", error);
}

std::string ReadSmallFile(const std::string& path, size_t most_bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most_bytes, '\0');
  file.read(text.data(), std::ssize(text));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace skald::hub
