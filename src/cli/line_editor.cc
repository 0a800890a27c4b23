#include "cli/line_editor.h"

#include <histedit.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace skald::cli {

namespace {

// Bracketed paste (xterm's control sequences): a terminal that is asked to puts these two around
// what is pasted, so that its newlines are none of the user's.
constexpr const char* kPasteOn = "\x1b[?2004h";
constexpr const char* kPasteOff = "\x1b[?2004l";
constexpr const char* kPasteBegin = "\x1b[200~";
constexpr std::wstring_view kPasteEnd = L"\x1b[201~";
// Longer than any context of today; what comes behind is dropped.
constexpr size_t kPasteMax = size_t{16} << 20;

// What was pasted as it goes into a line: newlines of every kind are newlines, other control
// characters are left out.
std::wstring Cleaned(std::wstring_view pasted) {
  std::wstring text;
  for (size_t i = 0; i < pasted.size(); ++i) {
    const wchar_t c = pasted[i];
    if (c == L'\r') {
      if (i + 1 == pasted.size() || pasted[i + 1] != L'\n') text += L'\n';
    } else if (c == L'\n' || c == L'\t' || (c >= 0x20 && c != 0x7F && (c < 0x80 || c >= 0xA0))) {
      text += c;
    }
  }
  return text;
}

void Say(const char* text) {
  fputs(text, stdout);
  fflush(stdout);
}

// While it lives, the terminal brackets pastes. A signal that ends the process ends that, too:
// libedit's handler has given the modes of the terminal back when this one is called.
class BracketedPaste {
 public:
  BracketedPaste() {
    Say(kPasteOn);
    struct sigaction action {};
    action.sa_handler = EndProcess;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      // What is ignored (nohup) stays so.
      if (before_[i].sa_handler == SIG_DFL) sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~BracketedPaste() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    Say(kPasteOff);
  }
  BracketedPaste(const BracketedPaste&) = delete;
  BracketedPaste& operator=(const BracketedPaste&) = delete;

 private:
  static constexpr std::array kSignals = {SIGTERM, SIGHUP, SIGQUIT};

  static void EndProcess(int number) {
    [[maybe_unused]] const ssize_t written =
        write(STDOUT_FILENO, kPasteOff, std::char_traits<char>::length(kPasteOff));
    raise(number);  // SA_RESETHAND: the system's own action, once this returns
  }

  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace

// libedit's state. Its callbacks find it as client data.
struct LineEditor::Terminal {
  explicit Terminal(Mode mode)
      : takes_pastes(mode == Mode::kInteractive),
        editor(el_init("skald", stdin, stdout, stderr)),
        history(history_init()) {
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
    // A window that changes its size while a line is edited.
    el_set(editor, EL_SIGNAL, 1);
    el_source(editor, nullptr);
    // Behind ~/.editrc, which may choose other keys and would lose this one.
    el_set(editor, EL_ADDFN, "skald-paste", "takes a pasted text", &Terminal::OnPaste);
    if (takes_pastes) el_set(editor, EL_BIND, kPasteBegin, "skald-paste", nullptr);
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

  static unsigned char OnPaste(EditLine* editor, int) {
    std::wstring pasted;
    wchar_t c = 0;
    while (!pasted.ends_with(kPasteEnd)) {
      if (el_wgetc(editor, &c) != 1) return CC_EOF;
      if (pasted.size() == kPasteMax) pasted.erase(kPasteMax - kPasteEnd.size(), 1);
      pasted += c;
    }
    pasted.resize(pasted.size() - kPasteEnd.size());
    const std::wstring text = Cleaned(pasted);
    if (text.empty()) return CC_NORM;
    return el_winsertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  const bool takes_pastes;
  EditLine* editor;
  History* history;
  HistEvent event{};
  const char* prompt = "";
  bool interrupted = false;
};

LineEditor::LineEditor(Mode mode) {
  if (mode != Mode::kPipe) terminal_ = std::make_unique<Terminal>(mode);
}

LineEditor::~LineEditor() = default;

namespace {

// One line from stdin. Byte by byte through stdio, which buffers.
LineEnd ReadPipe(std::string* line) {
  line->clear();
  int c = 0;
  while ((c = getc(stdin)) != EOF && c != '\n') line->push_back(static_cast<char>(c));
  if (c == EOF && ferror(stdin) != 0) return LineEnd::kError;
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
  el_resize(terminal_->editor);  // it may have changed while an answer came
  // Before the prompt is shown: until then the terminal itself edits, and a Ctrl-D would be lost.
  el_set(terminal_->editor, EL_PREP_TERM, 1);
  const char* typed = nullptr;
  {
    std::optional<BracketedPaste> pastes;
    if (terminal_->takes_pastes) pastes.emplace();
    typed = el_gets(terminal_->editor, &count);
  }
  // libedit leaves Ctrl-C a key; while an answer runs it is the signal again.
  termios modes{};
  if (tcgetattr(STDIN_FILENO, &modes) == 0) {
    modes.c_lflag |= ISIG;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
  }
  line->clear();
  if (terminal_->interrupted) {
    Say("\n");
    return LineEnd::kInterrupted;
  }
  if (typed == nullptr || count <= 0) {
    Say("\n");
    return LineEnd::kEndOfInput;
  }
  line->assign(typed, static_cast<size_t>(count));
  while (!line->empty() && (line->back() == '\n' || line->back() == '\r')) line->pop_back();
  if (!line->empty()) ::history(terminal_->history, &terminal_->event, H_ENTER, line->c_str());
  return LineEnd::kLine;
}

}  // namespace skald::cli
