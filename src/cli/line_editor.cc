#include "cli/line_editor.h"

#include <histedit.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace skald::cli {

// libedit's state. Its callbacks find it as client data.
struct LineEditor::Terminal {
  Terminal() : editor(el_init("skald", stdin, stdout, stderr)), history(history_init()) {
    constexpr int kHistoryLines = 1000;
    el_set(editor, EL_CLIENTDATA, this);
    el_set(editor, EL_PROMPT, &Terminal::ShowPrompt);
    el_set(editor, EL_EDITOR, "emacs");
    ::history(history, &event, H_SETSIZE, kHistoryLines);
    el_set(editor, EL_HIST, ::history, history);
    // Ctrl-C is a key like others here, not a signal: the line ends, the program does not.
    el_set(editor, EL_SETTY, "-d", "-isig", nullptr);
    el_set(editor, EL_ADDFN, "skald-interrupt", "drops the line", &Terminal::OnInterrupt);
    el_set(editor, EL_BIND, "^C", "skald-interrupt", nullptr);
    el_source(editor, nullptr);
  }
  ~Terminal() {
    history_end(history);
    el_end(editor);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  static Terminal& Of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<Terminal*>(self);
  }
  static const char* ShowPrompt(EditLine* editor) { return Of(editor).prompt; }
  static unsigned char OnInterrupt(EditLine* editor, int) {
    Of(editor).interrupted = true;
    return CC_NEWLINE;
  }

  EditLine* editor;
  History* history;
  HistEvent event{};
  const char* prompt = "";
  bool interrupted = false;
};

LineEditor::LineEditor(Mode mode) {
  if (mode == Mode::kInteractive) terminal_ = std::make_unique<Terminal>();
}

LineEditor::~LineEditor() = default;

namespace {

// One line from stdin. Byte by byte through stdio, which buffers.
LineEnd ReadPipe(std::string* line) {
  line->clear();
  int c = 0;
  while ((c = getc(stdin)) != EOF && c != '\n') line->push_back(static_cast<char>(c));
  if (c == EOF && line->empty()) return LineEnd::kEndOfInput;
  if (!line->empty() && line->back() == '\r') line->pop_back();
  return LineEnd::kLine;
}

}  // namespace

LineEnd LineEditor::Read(const char* prompt, std::string* line) {
  if (terminal_ == nullptr) return ReadPipe(line);
  terminal_->prompt = prompt;
  terminal_->interrupted = false;
  int count = 0;
  const char* typed = el_gets(terminal_->editor, &count);
  // libedit leaves Ctrl-C a key; while an answer runs it is the signal again.
  termios modes{};
  if (tcgetattr(STDIN_FILENO, &modes) == 0) {
    modes.c_lflag |= ISIG;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
  }
  line->clear();
  if (terminal_->interrupted) {
    fputs("\n", stdout);
    fflush(stdout);
    return LineEnd::kInterrupted;
  }
  if (typed == nullptr || count <= 0) {
    fputs("\n", stdout);
    fflush(stdout);
    return LineEnd::kEndOfInput;
  }
  line->assign(typed, static_cast<size_t>(count));
  while (!line->empty() && (line->back() == '\n' || line->back() == '\r')) line->pop_back();
  if (!line->empty()) ::history(terminal_->history, &terminal_->event, H_ENTER, line->c_str());
  return LineEnd::kLine;
}

}  // namespace skald::cli
