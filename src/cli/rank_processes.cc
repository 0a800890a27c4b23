#include "cli/rank_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/status_macros.h"
#include "base/thread.h"
#include "cli/parse_number.h"
#include "cli/sandbox.h"

namespace skald::cli {

namespace {

constexpr const char* kName = "rank-worker";
constexpr const char* kLimitedWord = "limited";
constexpr const char* kFreeWord = "free";
// Where a worker finds its descriptors: behind the standard ones.
constexpr int kSocket = 3;
constexpr int kMemory = 4;
// So that none of those that are passed on stands where another is to go.
constexpr int kFirstOther = 5;

Status SystemError(const std::string& what, int error) {
  return Status(ErrorCode::kIo, fmt::format("{}: {}", what, std::strerror(error)));
}

// Descriptors that close with it, unless they are taken.
class Descriptors {
 public:
  ~Descriptors() {
    for (const int descriptor : all_) close(descriptor);
  }
  void Add(int descriptor) { all_.push_back(descriptor); }
  std::vector<int> Take() { return std::exchange(all_, {}); }
  const std::vector<int>& all() const { return all_; }

 private:
  std::vector<int> all_;
};

// The same file at a higher number.
Result<int> MoveUp(int descriptor) {
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstOther);
  const int error = errno;
  close(descriptor);
  if (moved < 0) return SystemError("no descriptor is left for a rank", error);
  return moved;
}

// What a worker is started with: nothing to read, nothing to print to but stderr.
class SpawnActions {
 public:
  SpawnActions(int socket, int memory) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, socket, kSocket);
    posix_spawn_file_actions_adddup2(&actions_, memory, kMemory);
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// This program again, also where its file has another one's name by now.
Status Spawn(int socket, int memory, RankSandbox sandbox) {
  const SpawnActions actions(socket, memory);
  std::array<std::string, 4> words = {"skald", kName, fmt::format("{}", getpid()),
                                      sandbox == RankSandbox::kLimited ? kLimitedWord : kFreeWord};
  std::array<char*, words.size() + 1> arguments = {};
  for (size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t child = -1;
  const int error =
      posix_spawn(&child, "/proc/self/exe", actions.get(), nullptr, arguments.data(), environ);
  return error == 0 ? Ok() : SystemError("cannot start a rank (/proc/self/exe)", error);
}

// Starts one and adds our end of its socket.
Status StartRank(int memory, RankSandbox sandbox, Descriptors* sockets) {
  std::array<int, 2> ends = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return SystemError("cannot make a socket for a rank", errno);
  }
  sockets->Add(ends[0]);
  ASSIGN_OR_RETURN(const int theirs, MoveUp(ends[1]));
  Status status = Spawn(theirs, memory, sandbox);
  // Held by the worker alone from now on: it closes with the worker.
  close(theirs);
  return status;
}

}  // namespace

Result<RankGroup> StartRanks(const RankPlan& plan) {
  ASSIGN_OR_RETURN(const int made, ShareRankMemory(plan.count));
  ASSIGN_OR_RETURN(const int memory, MoveUp(made));
  Descriptors memories;
  memories.Add(memory);
  Descriptors sockets;
  for (int rank = 1; rank < plan.count; ++rank) {
    RETURN_IF_ERROR(StartRank(memory, plan.sandbox, &sockets));
  }
  return LeadRanks({.memory = memories.Take().front(),
                    .sockets = sockets.Take(),
                    .verify_steps = plan.verify_steps});
}

std::optional<RankWorkerArgs> ParseRankWorker(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3 || arguments[0] != kName) return std::nullopt;
  const Result<int64_t> leader = ParseInt<int64_t>(arguments[1], {.min = 1});
  if (!leader.ok() || (arguments[2] != kLimitedWord && arguments[2] != kFreeWord)) {
    return std::nullopt;
  }
  return RankWorkerArgs{
      .leader = *leader,
      .sandbox = arguments[2] == kLimitedWord ? RankSandbox::kLimited : RankSandbox::kFree};
}

// What goes wrong the first rank hears and says; what it cannot hear it sees.
ExitCode RunRankWorker(const RankWorkerArgs& args) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It has ended before that.
  if (getppid() != args.leader) return ExitCode::kUnavailable;
  NameThisThread("skald-rank");
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  Result<RankWorker> worker = RankWorker::Join({.memory = kMemory, .socket = kSocket});
  if (!worker.ok()) return ExitCodeOf(worker.status().code());
  if (args.sandbox == RankSandbox::kLimited) {
    // Where the kernel has no such nets, the first rank has said so. Before the threads of runners
    // are started, which then are limited, too.
    const auto leader = static_cast<int>(args.leader);
    [[maybe_unused]] const Status files = LimitFiles({}, Signals::kOutside);
    [[maybe_unused]] const Status calls = LimitCalls(leader);
  }
  const Status end = worker->Run();
  // A stopped process holds ports and memory, and nobody starts it anew.
  if (worker->first_stands_still()) kill(static_cast<pid_t>(args.leader), SIGKILL);
  return ExitCodeOf(end.code());
}

}  // namespace skald::cli
