#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/checked_math.h"

namespace skald {
namespace {

// The system's text for `error`. Unlike strerror it is safe in several threads.
std::string Reason(int error) { return std::generic_category().message(error); }

// What a file that is no regular file is, for a message.
std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Result<File> File::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer must not wait. It has no effect on regular files.
  int descriptor = -1;
  do {
    descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) {
    const int error = errno;
    const bool missing = error == ENOENT || error == ENOTDIR;
    return Status(missing ? ErrorCode::kNotFound : ErrorCode::kIo,
                  path + ": cannot open: " + Reason(error));
  }
  File file(descriptor, 0, path);
  struct stat info = {};
  if (fstat(descriptor, &info) != 0) {
    return Status(ErrorCode::kIo, path + ": cannot examine: " + Reason(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return Status(ErrorCode::kIo,
                  path + ": is " + std::string(KindOf(info.st_mode)) + ", expected a regular file");
  }
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

File::File(int descriptor, uint64_t size, std::string path)
    : descriptor_(descriptor), size_(size), path_(std::move(path)) {}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

Status File::ReadAt(uint64_t offset, std::span<std::byte> out) const {
  if (!CheckedU64(offset).Add(out.size()).AtMost(size_)) {
    return Status(ErrorCode::kIo, "expected " + std::to_string(out.size()) + " bytes at offset " +
                                      std::to_string(offset) + " of a file of " +
                                      std::to_string(size_) + " bytes");
  }
  size_t done = 0;
  while (done < out.size()) {
    // The range is inside size_, which came from an off_t, so the sum fits one.
    const off_t position = static_cast<off_t>(offset + done);
    const ssize_t count = pread(descriptor_, out.data() + done, out.size() - done, position);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count == 0) {
      return Status(ErrorCode::kIo, "the file shrank while it was read: expected " +
                                        std::to_string(out.size()) + " bytes at offset " +
                                        std::to_string(offset) + ", got " + std::to_string(done));
    } else if (errno != EINTR) {
      return Status(ErrorCode::kIo, "cannot read " + std::to_string(out.size()) +
                                        " bytes at offset " + std::to_string(offset) + ": " +
                                        Reason(errno));
    }
  }
  return Ok();
}

void File::DropFromCache(uint64_t offset, uint64_t length) const {
  static_cast<void>(posix_fadvise(descriptor_, static_cast<off_t>(offset),
                                  static_cast<off_t>(length), POSIX_FADV_DONTNEED));
}

}  // namespace skald
