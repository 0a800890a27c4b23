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
  kError,        ///< the pipe or file cannot be read; errno says why
};

/// Keys are those of emacs (libedit, which also reads ~/.editrc); up and down walk through the
/// lines of this session. Nothing is written to a file: what people ask is theirs. Text is UTF-8
/// (UseUtf8Locale must have been called). A pasted text becomes part of the line with its newlines;
/// it can be edited, and Enter ends it.
class LineEditor {
 public:
  enum class Mode : uint8_t {
    kPipe,         ///< lines are read from stdin as they are, prompts are not shown
    kDumb,         ///< stdin and stdout are terminals that know no escape sequences
    kInteractive,  ///< stdin and stdout are terminals
  };
  explicit LineEditor(Mode mode);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// Reads a line into `line`, without its last newline. `prompt` outlives the call.
  LineEnd Read(const char* prompt, std::string* line);

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;  // null: a pipe
};

}  // namespace skald::cli
