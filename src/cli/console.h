/// Console: stdout for results, stderr for everything else.
///
/// Writes go straight to the descriptor: a token is on the screen when Write returns, and a full
/// disk or a closed pipe is an error at the write that met it, not a surprise at exit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/environment.h"
#include "skald/status.h"

namespace skald::cli {

/// When to use colour.
enum class ColorMode : uint8_t { kAuto, kAlways, kNever };

/// How much to say on stderr beside errors.
enum class Verbosity : uint8_t {
  kQuiet,    ///< nothing
  kNormal,   ///< the statistics line, progress
  kVerbose,  ///< also what was loaded and how it runs
};

/// What the flags say about output.
struct ConsoleOptions {
  ColorMode color = ColorMode::kAuto;
  Verbosity verbosity = Verbosity::kNormal;
};

/// Writes all of `bytes` to `descriptor`, through interruptions and partial writes; waits if the
/// descriptor is non-blocking and full. Errors: kIo with the system's reason; kCancelled if it is a
/// pipe or socket whose reader has gone (SIGPIPE must be ignored).
Status WriteAll(int descriptor, std::string_view bytes);

/// See above. One per process.
class Console {
 public:
  explicit Console(const Terminals& terminals, ColorWish wish = ColorWish::kNone);

  /// Takes over what the flags say. Before this call the defaults hold.
  void Configure(const ConsoleOptions& options);
  /// Lines for Note that are known before the flags are: Configure says them, unless quiet.
  void NoteWhenConfigured(std::vector<std::string> lines) { pending_ = std::move(lines); }

  /// Writes a result to stdout. Errors: as WriteAll, "cannot write to stdout: ..."
  Status Write(std::string_view bytes);
  /// Write of text that may come from a model or a model file: on a terminal, control characters
  /// are shown, not obeyed. Elsewhere the bytes are exact.
  Status WriteText(std::string_view text);
  /// WriteText in faint type if colour is on.
  Status WriteDim(std::string_view text);

  /// Whether results may have colour.
  bool has_color() const;

  /// One line on stderr; a newline is added. Control characters are shown. Not when quiet.
  void Note(std::string_view line);
  /// As Note, only when verbose.
  void Detail(std::string_view line);
  /// An error message on stderr, also when quiet.
  void Error(std::string_view line);
  /// The same, of what was compared and differs: the exit code becomes ExitCode::kMismatch.
  void Mismatch(std::string_view line);
  /// Bytes as they are on stderr, if it is a terminal and not quiet: the progress bar.
  void Decorate(std::string_view bytes);

  const Terminals& terminals() const { return terminals_; }
  Verbosity verbosity() const { return options_.verbosity; }
  bool has_mismatch() const { return has_mismatch_; }

 private:
  void Line(std::string_view line);

  Terminals terminals_;
  ColorWish wish_;
  ConsoleOptions options_;
  std::vector<std::string> pending_;
  bool has_mismatch_ = false;
};

}  // namespace skald::cli
