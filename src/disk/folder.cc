#include "disk/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/status_macros.h"

namespace skald::disk {
namespace {

constexpr mode_t kOnlyMine = S_IRUSR | S_IWUSR;
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

Status Failed(const std::string& what) {
  const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Status(code, what + ": " + std::generic_category().message(errno));
}

Status NotSafe(const std::string& path, const std::string& why) {
  return Status(ErrorCode::kInvalidArgument, path + ": " + why);
}

Status CheckFolder(const OpenFile& directory, const std::string& path) {
  struct stat found = {};
  if (fstat(directory.descriptor(), &found) != 0) return Failed(path);
  if (found.st_uid != geteuid()) return NotSafe(path, "belongs to another user");
  if ((found.st_mode & kOthersMayWrite) != 0)
    return NotSafe(path, "others may write there; chmod 700 makes it private");
  return Ok();
}

}  // namespace

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}
OpenFile::OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

uint64_t OpenFile::size() const {
  struct stat found = {};
  if (fstat(descriptor_, &found) != 0) return 0;
  return static_cast<uint64_t>(found.st_size);
}

Status OpenFile::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read");
    if (got == 0) return Status(ErrorCode::kIo, "read: the file ends before");
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return Ok();
}

Status OpenFile::WriteAt(uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done =
        pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return Failed("write");
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return Ok();
}

Status OpenFile::CutTo(uint64_t size) const {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) return Failed("truncate");
  return Ok();
}

Result<Folder> Folder::Open(const std::string& path, Access access) {
  if (access == Access::kOwn && mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return Failed(path);
  }
  OpenFile directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.descriptor() < 0) return Failed(path);
  RETURN_IF_ERROR(CheckFolder(directory, path));
  Folder folder(path, access, std::move(directory));
  if (access == Access::kLook) return folder;
  ASSIGN_OR_RETURN(folder.lock_, folder.OpenIn("lock"));
  // The lock is that of the open file: it is gone with the process, also after kill -9.
  if (flock(folder.lock_.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Failed(path + "/lock");
    return Status(ErrorCode::kUnavailable, path + ": another process has this cache open");
  }
  return folder;
}

Result<OpenFile> Folder::OpenIn(const std::string& name) const {
  const std::string path = path_ + "/" + name;
  const int flags = access_ == Access::kOwn ? O_RDWR | O_CREAT : O_RDONLY;
  // O_NONBLOCK: a FIFO in this place is refused below, not waited for.
  OpenFile file(openat(directory_.descriptor(), name.c_str(),
                       flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, kOnlyMine));
  if (file.descriptor() < 0) return Failed(path);
  struct stat found = {};
  if (fstat(file.descriptor(), &found) != 0) return Failed(path);
  if (!S_ISREG(found.st_mode)) return NotSafe(path, "is no plain file");
  if (found.st_uid != geteuid()) return NotSafe(path, "belongs to another user");
  // A second name of the file may stand where others look, or be a file that is not ours to write.
  if (found.st_nlink != 1) return NotSafe(path, "has a second name (a hard link)");
  if ((found.st_mode & kOthers) != 0 && access_ == Access::kOwn &&
      fchmod(file.descriptor(), kOnlyMine) != 0) {
    return Failed(path);
  }
  return file;
}

}  // namespace skald::disk
