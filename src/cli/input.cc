#include "cli/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace skald::cli {

namespace {

Result<std::string> ReadAll(int descriptor) {
  std::string text;
  std::array<char, 65536> block;
  while (true) {
    const ssize_t count = read(descriptor, block.data(), block.size());
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      return Status(ErrorCode::kIo, std::generic_category().message(errno));
    }
    text.append(block.data(), static_cast<size_t>(count));
    if (static_cast<int64_t>(text.size()) > kInputBytesMax)
      return Status(ErrorCode::kInvalidArgument,
                    fmt::format("longer than {} bytes", kInputBytesMax));
  }
}

Result<std::string> WithContext(Result<std::string> text, const std::string& what) {
  if (text.ok()) return text;
  return std::move(text).status().WithContext(what);
}

}  // namespace

Result<std::string> ReadStdin() { return WithContext(ReadAll(STDIN_FILENO), "stdin"); }

Result<std::string> ReadInput(const std::string& path) {
  if (path == "-") return ReadStdin();
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Status(code, fmt::format("{}: {}", path, std::generic_category().message(errno)));
  }
  Result<std::string> text = ReadAll(descriptor);
  close(descriptor);
  return WithContext(std::move(text), path);
}

std::string WithoutFinalNewline(std::string text) {
  if (!text.empty() && text.back() == '\n') {
    text.pop_back();
    if (!text.empty() && text.back() == '\r') text.pop_back();
  }
  return text;
}

}  // namespace skald::cli
