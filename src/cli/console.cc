#include "cli/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "cli/utf8.h"

namespace skald::cli {

namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kBoldRed = "\x1b[1;31m";
constexpr std::string_view kPlain = "\x1b[0m";

std::string SystemMessage(int error) { return std::generic_category().message(error); }

// A flag beats the environment, which beats what the stream is.
bool ColorOn(ColorMode mode, ColorWish wish, bool is_terminal) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  if (wish != ColorWish::kNone) return wish == ColorWish::kAlways;
  return is_terminal;
}

}  // namespace

Status WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd wait{descriptor, POLLOUT, 0};
      poll(&wait, 1, -1);  // an error here shows up again at the next write
      continue;
    }
    if (errno == EPIPE) return Status(ErrorCode::kCancelled, "the reader has gone");
    return Status(ErrorCode::kIo, SystemMessage(errno));
  }
  return Ok();
}

Console::Console(const Terminals& terminals, ColorWish wish) : terminals_(terminals), wish_(wish) {}

void Console::Configure(const ConsoleOptions& options) {
  options_ = options;
  for (const std::string& line : std::exchange(pending_, {})) Note("skald: " + line);
}

Status Console::Write(std::string_view bytes) {
  return WriteAll(STDOUT_FILENO, bytes).WithContext("cannot write to stdout");
}

Status Console::WriteText(std::string_view text) {
  return terminals_.output ? Write(TerminalText(text)) : Write(text);
}

bool Console::has_color() const { return ColorOn(options_.color, wish_, terminals_.output); }

Status Console::WriteDim(std::string_view text) {
  if (!has_color()) return WriteText(text);
  RETURN_IF_ERROR(Write(kDim));
  RETURN_IF_ERROR(WriteText(text));
  return Write(kPlain);
}

void Console::Note(std::string_view line) {
  if (options_.verbosity != Verbosity::kQuiet) Line(line);
}

void Console::Detail(std::string_view line) {
  if (options_.verbosity == Verbosity::kVerbose) Line(line);
}

void Console::Mismatch(std::string_view line) {
  Error(line);
  has_mismatch_ = true;
}

void Console::Error(std::string_view line) {
  std::string text = "skald: ";
  if (ColorOn(options_.color, wish_, terminals_.error))
    text = fmt::format("{}{}{}", kBoldRed, text, kPlain);
  text += TerminalLine(line) + '\n';
  // A stderr that cannot be written leaves nobody to tell.
  static_cast<void>(WriteAll(STDERR_FILENO, text));
}

void Console::Decorate(std::string_view bytes) {
  if (terminals_.error && options_.verbosity != Verbosity::kQuiet)
    static_cast<void>(WriteAll(STDERR_FILENO, bytes));
}

void Console::Line(std::string_view line) {
  static_cast<void>(WriteAll(STDERR_FILENO, TerminalLine(line) + '\n'));
}

}  // namespace skald::cli
