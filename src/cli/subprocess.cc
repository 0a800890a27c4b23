#include "cli/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/status_macros.h"

namespace skald::cli {

namespace {

Status SystemError(const std::string& what) {
  return Status(ErrorCode::kIo, what + ": " + std::strerror(errno));
}

// A pipe whose ends are closed with it.
class Pipe {
 public:
  static Result<Pipe> Create() {
    Pipe pipe;
    if (pipe2(pipe.ends_.data(), O_CLOEXEC) != 0) return SystemError("cannot make a pipe");
    return pipe;
  }
  Pipe(Pipe&& other) noexcept : ends_(std::exchange(other.ends_, {-1, -1})) {}
  Pipe& operator=(Pipe&&) = delete;
  ~Pipe() {
    CloseEnd(0);
    CloseEnd(1);
  }

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void CloseReader() { CloseEnd(0); }
  void CloseWriter() { CloseEnd(1); }

 private:
  Pipe() = default;
  void CloseEnd(size_t end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }

  std::array<int, 2> ends_ = {-1, -1};
};

// Starts `command`; returns its process id.
Result<pid_t> Spawn(const std::string& command, int output, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  // skald ignores SIGPIPE; a program that it starts should not inherit that.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh";
  std::string option = "-c";
  std::string text = command;
  std::array<char*, 4> arguments = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = -1;
  const int error =
      posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  errno = error;
  return SystemError("cannot start /bin/sh");
}

// Appends what can be read; false at the end of the file.
bool ReadSome(int descriptor, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text.append(buffer.data(), static_cast<size_t>(count));
  return count > 0;
}

// Reads both until both have ended.
Status Collect(const Pipe& output, const Pipe& errors, ProgramOutput& collected) {
  std::array<pollfd, 2> waits = {pollfd{.fd = output.reader(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = errors.reader(), .events = POLLIN, .revents = 0}};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    if (poll(waits.data(), waits.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return SystemError("cannot wait for a program");
    }
    if (waits[0].revents != 0 && !ReadSome(waits[0].fd, collected.output)) waits[0].fd = -1;
    if (waits[1].revents != 0 && !ReadSome(waits[1].fd, collected.errors)) waits[1].fd = -1;
    if (collected.output.size() > kProgramOutputMax)
      return Status(ErrorCode::kIo, "the program does not stop printing");
    if (collected.errors.size() > kProgramErrorsKept)
      collected.errors.erase(0, collected.errors.size() - kProgramErrorsKept);
  }
  return Ok();
}

}  // namespace

Result<ProgramOutput> RunInShell(const std::string& command) {
  ASSIGN_OR_RETURN(Pipe output, Pipe::Create());
  ASSIGN_OR_RETURN(Pipe errors, Pipe::Create());
  ASSIGN_OR_RETURN(const pid_t child, Spawn(command, output.writer(), errors.writer()));
  output.CloseWriter();
  errors.CloseWriter();
  ProgramOutput collected;
  const Status status = Collect(output, errors, collected);
  // A child that still prints meets a closed pipe, so waiting ends.
  output.CloseReader();
  errors.CloseReader();
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0) {
    if (errno != EINTR) return SystemError("cannot wait for a program");
  }
  RETURN_IF_ERROR(status);
  collected.exit_code = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
  return collected;
}

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace skald::cli
