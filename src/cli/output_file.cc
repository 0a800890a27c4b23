#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "cli/console.h"

namespace skald::cli {

namespace {

// New files get these, less the user's umask.
constexpr mode_t kFileMode = 0666;

Status IoError(const std::string& path, int error) {
  return Status(ErrorCode::kIo,
                fmt::format("cannot write {}: {}", path, std::generic_category().message(error)));
}

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path) {
  OutputFile file;
  file.path_ = path == "-" ? "to stdout" : "'" + path + "'";
  if (path == "-") {
    file.descriptor_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (file.descriptor_ < 0) return IoError(file.path_, errno);
    return file;
  }

  struct stat existing {};
  const bool exists = stat(path.c_str(), &existing) == 0;
  if (exists && !S_ISREG(existing.st_mode)) {
    file.descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.descriptor_ < 0) return IoError(file.path_, errno);
    return file;
  }

  std::error_code error;
  const auto resolved = std::filesystem::weakly_canonical(path, error);
  file.target_ = error ? path : resolved.string();
  const std::string temporary = fmt::format("{}.{}.tmp", file.target_, getpid());
  file.descriptor_ = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (file.descriptor_ < 0) return IoError(file.path_, errno);
  file.temporary_ = temporary;
  return file;
}

OutputFile::~OutputFile() { Discard(); }

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  temporary_ = std::exchange(other.temporary_, {});
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

Status OutputFile::Write(std::string_view bytes) {
  return WriteAll(descriptor_, bytes).WithContext(fmt::format("cannot write {}", path_));
}

Status OutputFile::Commit() {
  // Devices and pipes cannot be flushed (EINVAL, EROFS): for them the writes were all.
  if (!temporary_.empty() && fsync(descriptor_) != 0) return IoError(path_, errno);
  if (close(std::exchange(descriptor_, -1)) != 0) return IoError(path_, errno);
  if (temporary_.empty()) return Ok();
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) return IoError(path_, errno);
  temporary_.clear();
  return Ok();
}

void OutputFile::Discard() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

}  // namespace skald::cli
