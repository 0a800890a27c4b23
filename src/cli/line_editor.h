/// LineEditor: the lines a person types, with editing and history at a terminal, plain from a pipe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace skald::cli {

/// How reading a line ended.
enum class LineEnd : uint8_t {
  kLine,         ///< a line was read
  kInterrupted,  ///< Ctrl-C: what was typed is thrown away
  kEndOfInput,   ///< Ctrl-D on an empty line, or the end of the pipe
};

/// Keys are those of emacs (libedit, which also reads ~/.editrc); up and down walk through the
/// lines of this session. Nothing is written to a file: what people ask is theirs.
class LineEditor {
 public:
  /// `interactive`: stdin and stdout are terminals. Otherwise lines are read from stdin as they are
  /// and prompts are not shown.
  enum class Mode : uint8_t { kPipe, kInteractive };
  explicit LineEditor(Mode mode);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// Reads a line into `line`, without its newline. `prompt` outlives the call.
  LineEnd Read(const char* prompt, std::string* line);

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;  // null: a pipe
};

}  // namespace skald::cli
