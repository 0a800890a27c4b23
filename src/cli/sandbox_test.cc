// The sandbox by trying: each attempt is made in a process of its own, once as it is and once
// limited, and must succeed there and fail here.

#include "cli/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace skald::cli {
namespace {

#ifdef SKALD_SANITIZED
TEST(SandboxTest, ABuildWithASanitizerSaysThatItHasNone) {
  EXPECT_EQ(LimitCalls().code(), ErrorCode::kUnsupported);
}
#else
namespace fs = std::filesystem;

// What an attempt comes to: 0, or errno.
using Attempt = std::function<int()>;
constexpr int kNotLimited = 200;  // LimitFiles or LimitCalls itself failed

int ErrnoIf(bool failed) { return failed ? errno : 0; }

bool KernelHasLandlock() { return syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) >= 0; }

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("skald_sandbox_" + std::to_string(getpid()));
    fs::create_directories(folder_ / "open");
    fs::create_directories(folder_ / "closed");
    std::ofstream(folder_ / "open" / "keys") << "key";
    std::ofstream(folder_ / "open" / "other") << "key";
    std::ofstream(folder_ / "closed" / "keys") << "key";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Open(const char* name) const { return (folder_ / "open" / name).string(); }
  std::string Closed() const { return (folder_ / "closed" / "keys").string(); }

  // The whole sandbox, as serve puts it on.
  bool Limit() const {
    const std::vector<std::string> readable = {Open(""), "/does/not/exist"};
    const bool files = LimitFiles(readable).ok() || !KernelHasLandlock();
    return LimitCalls().ok() && files;
  }

  // Runs `attempt` in a process of its own. What it returns, or 1000 + the signal it died of.
  static int InProcess(const Attempt& attempt) {
    const pid_t child = fork();
    if (child == 0) _exit(attempt());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  int Limited(const Attempt& attempt) const {
    return InProcess([&] { return Limit() ? attempt() : kNotLimited; });
  }

  fs::path folder_;
};

int TryOpen(const std::string& path, int flags) {
  return ErrnoIf(open(path.c_str(), flags, 0600) < 0);
}

// For a parent and a child on one machine, without a name.
int ListeningSocket(sockaddr_in* address) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  *address = {};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(*address);
  auto* generic = reinterpret_cast<sockaddr*>(address);
  EXPECT_EQ(bind(listening, generic, size), 0);
  EXPECT_EQ(listen(listening, 5), 0);
  EXPECT_EQ(getsockname(listening, generic, &size), 0);
  return listening;
}

int Connect(int descriptor, const sockaddr_in& address) {
  return ErrnoIf(
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0);
}

using Attempts = std::vector<std::pair<const char*, Attempt> >;

Attempts OnFiles(const std::function<std::string(const char*)>& path_of) {
  const auto path = [path_of](const char* name) { return path_of(name); };
  return {
      {"write a file", [=] { return TryOpen(path("keys"), O_WRONLY); }},
      {"write and read a file", [=] { return TryOpen(path("keys"), O_RDWR); }},
      {"make a file", [=] { return TryOpen(path("made"), O_RDONLY | O_CREAT); }},
      {"make a nameless file", [=] { return TryOpen(path(""), O_TMPFILE | O_WRONLY); }},
      {"empty a file", [=] { return ErrnoIf(truncate(path("other").c_str(), 0) != 0); }},
      {"remove a file", [=] { return ErrnoIf(unlink(path("other").c_str()) != 0); }},
      {"make a folder", [=] { return ErrnoIf(mkdir(path("folder").c_str(), 0700) != 0); }},
      {"rename", [=] { return ErrnoIf(rename(path("keys").c_str(), path("k").c_str()) != 0); }},
      {"change rights", [=] { return ErrnoIf(chmod(path("k").c_str(), 0777) != 0); }},
  };
}

// The sockets, still unbound, are shared with the processes that try: one for each attempt.
Attempts OnSockets(int connecting, int listening, const sockaddr_in& address) {
  return {
      {"make a socket", [] { return ErrnoIf(socket(AF_INET, SOCK_STREAM, 0) < 0); }},
      {"make a local socket", [] { return ErrnoIf(socket(AF_UNIX, SOCK_STREAM, 0) < 0); }},
      {"connect", [=] { return Connect(connecting, address); }},
      {"listen", [=] { return ErrnoIf(listen(listening, 1) != 0); }},
  };
}

void* Map(int protection) {
  return mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

Attempts OnProcesses(pid_t parent, void* page) {
  return {
      {"start a program",
       [] {
         const char* const arguments[] = {"/bin/true", nullptr};
         execv(arguments[0], const_cast<char* const*>(arguments));
         return errno;
       }},
      {"start a process",
       [] {
         const pid_t child = fork();
         if (child == 0) _exit(0);
         return ErrnoIf(child < 0);
       }},
      {"start a process by clone3",
       [] {
         uint64_t arguments[8] = {};
         const long child = syscall(SYS_clone3, arguments, sizeof(arguments));
         if (child == 0) _exit(0);
         return ErrnoIf(child < 0);
       }},
      {"be traced", [] { return ErrnoIf(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0); }},
      {"read a process",
       [] {
         char byte = 'a';
         char copy = 0;
         const iovec from{&byte, 1};
         const iovec to{&copy, 1};
         return ErrnoIf(process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1);
       }},
      {"signal a process", [=] { return ErrnoIf(kill(parent, 0) != 0); }},
      {"run a page", [=] { return ErrnoIf(Map(PROT_READ | PROT_EXEC) == MAP_FAILED); }},
      {"make a page run", [=] { return ErrnoIf(mprotect(page, 4096, PROT_EXEC) != 0); }},
      {"make a file in memory", [] { return ErrnoIf(memfd_create("x", 0) < 0); }},
      {"raise a limit",
       [] {
         rlimit limit{};
         getrlimit(RLIMIT_NOFILE, &limit);
         return ErrnoIf(setrlimit(RLIMIT_NOFILE, &limit) != 0);
       }},
      {"change the folder", [] { return ErrnoIf(chdir("/") != 0); }},
      {"leave what is shared", [] { return ErrnoIf(unshare(CLONE_FS) != 0); }},
      {"be dumped", [] { return ErrnoIf(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0); }},
      {"change user", [] { return ErrnoIf(setuid(getuid()) != 0); }},
  };
}

TEST_F(SandboxTest, FilesAreReadInThePlacesNamedOnly) {
  EXPECT_EQ(InProcess([&] { return TryOpen(Closed(), O_RDONLY); }), 0);
  EXPECT_EQ(Limited([&] { return TryOpen(Open("keys"), O_RDONLY); }), 0);
  if (!KernelHasLandlock()) {
    EXPECT_EQ(LimitFiles({}).code(), ErrorCode::kUnsupported);
    return;
  }
  EXPECT_EQ(Limited([&] { return TryOpen(Closed(), O_RDONLY); }), EACCES);
  EXPECT_EQ(Limited([&] { return TryOpen(Open("../closed/keys"), O_RDONLY); }), EACCES);
  EXPECT_EQ(Limited([&] { return TryOpen("/etc/passwd", O_RDONLY); }), EACCES);
  EXPECT_EQ(Limited([&] { return TryOpen("/proc/self/mem", O_RDONLY); }), EACCES);
}

// As who changes a file of keys does it. The new file is made by a process without limits.
TEST_F(SandboxTest, AFileThatReplacesAnotherCanBeRead) {
  int to_child[2];
  int to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = Limit() ? 'y' : 'n';
    [[maybe_unused]] const ssize_t told = write(to_parent[1], &byte, 1);
    if (byte == 'n' || read(to_child[0], &byte, 1) != 1) _exit(kNotLimited);
    const int descriptor = open(Open("keys").c_str(), O_RDONLY);
    char content[8] = {};
    _exit(descriptor >= 0 && read(descriptor, content, 8) == 3 && std::string(content) == "new"
              ? 0
              : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(to_parent[0], &byte, 1), 1);
  std::ofstream(Open("keys.new")) << "new";
  fs::rename(Open("keys.new"), Open("keys"));
  ASSERT_EQ(write(to_child[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const int descriptor : {to_child[0], to_child[1], to_parent[0], to_parent[1]})
    close(descriptor);
}

// What a process of any user can do, and a limited one cannot.
TEST_F(SandboxTest, RefusesWhatServingDoesNotNeed) {
  sockaddr_in address;
  const int listening = ListeningSocket(&address);
  const int connecting = socket(AF_INET, SOCK_STREAM, 0);
  const int unbound = socket(AF_INET, SOCK_STREAM, 0);
  void* page = Map(PROT_READ | PROT_WRITE);
  ASSERT_NE(page, MAP_FAILED);
  Attempts attempts = OnFiles([this](const char* name) { return Open(name); });
  for (Attempts more : {OnSockets(connecting, unbound, address), OnProcesses(getpid(), page)})
    attempts.insert(attempts.end(), more.begin(), more.end());
  for (const auto& [what, attempt] : attempts) {
    std::ofstream(Open("other")) << "key";
    std::ofstream(Open("keys")) << "key";
    EXPECT_EQ(InProcess(attempt), 0) << what << ", without limits";
    const int error = Limited(attempt);
    // clone3 looks as if the kernel were too old for it (sandbox.cc).
    EXPECT_TRUE(error == EPERM || error == ENOSYS) << what << ": " << error;
    fs::remove_all(Open("folder"));
  }
  munmap(page, 4096);
  close(connecting);
  close(unbound);
  close(listening);
}

// Also where a process without limits is refused for want of rights: another error then shows that
// the call was looked at.
TEST_F(SandboxTest, KnowsNoOtherSystemCall) {
  for (const long call :
       {SYS_mount, SYS_pivot_root, SYS_init_module, SYS_bpf, SYS_perf_event_open, SYS_keyctl,
        SYS_io_uring_setup, SYS_userfaultfd, SYS_reboot, SYS_setns, SYS_chroot, SYS_personality,
        SYS_process_vm_writev, SYS_pidfd_open, SYS_landlock_create_ruleset, SYS_seccomp}) {
    EXPECT_EQ(Limited([&] { return ErrnoIf(syscall(call, 0, 0, 0, 0, 0) < 0); }), EPERM) << call;
  }
}

// A rank of a model may end the first one, and nobody else.
TEST_F(SandboxTest, OneProcessMayBeSignalled) {
  const pid_t parent = getpid();
  const auto limited = [&](pid_t asked) {
    return InProcess([&] {
      const bool files = LimitFiles({}, Signals::kOutside).ok() || !KernelHasLandlock();
      if (!files || !LimitCalls(parent).ok()) return kNotLimited;
      return ErrnoIf(kill(asked, 0) != 0);
    });
  };
  EXPECT_EQ(limited(parent), 0);
  EXPECT_EQ(limited(getppid()), EPERM);
  EXPECT_EQ(limited(0), EPERM);
}

TEST_F(SandboxTest, HoldsForThreadsThatRunAlready) {
  const auto from_thread = [&] {
    std::atomic<bool> go = false;
    std::atomic<int> error = -1;
    std::thread thread([&] {
      go.wait(false);
      error = ErrnoIf(socket(AF_INET, SOCK_STREAM, 0) < 0);
    });
    const bool limited = LimitCalls().ok();
    go = true;
    go.notify_one();
    thread.join();
    return limited ? error.load() : kNotLimited;
  };
  EXPECT_EQ(InProcess(from_thread), EPERM);
}

TEST_F(SandboxTest, FilesAreLimitedForThreadsStartedLater) {
  if (!KernelHasLandlock()) return;  // tested above
  const auto from_thread = [&] {
    if (!LimitFiles({}).ok()) return kNotLimited;
    std::atomic<int> error = -1;
    std::thread([&] { error = TryOpen(Closed(), O_RDONLY); }).join();
    return error.load();
  };
  EXPECT_EQ(InProcess(from_thread), EACCES);
}

// What serving needs goes on.
TEST_F(SandboxTest, ServingGoesOn) {
  sockaddr_in address;
  const int listening = ListeningSocket(&address);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(Connect(client, address), 0);
  const auto serve = [&] {
    const int connection = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection < 0 || send(connection, "hello", 5, MSG_NOSIGNAL) != 5) return 1;
    std::vector<char> large(size_t{64} << 20, 'x');  // from mmap
    large = std::vector<char>();
    std::atomic<int> threads = 0;
    for (int i = 0; i < 3; ++i) std::thread([&] { ++threads; }).join();
    pollfd ready = {.fd = connection, .events = POLLOUT, .revents = 0};
    if (threads != 3 || poll(&ready, 1, 1000) != 1) return 2;
    timespec pause{.tv_sec = 0, .tv_nsec = 1000};
    if (nanosleep(&pause, nullptr) != 0) return 3;
    return shutdown(connection, SHUT_RDWR) == 0 && close(connection) == 0 ? 0 : 4;
  };
  EXPECT_EQ(Limited(serve), 0);
  char answer[5] = {};
  EXPECT_EQ(recv(client, answer, 5, MSG_WAITALL), 5);
  close(client);
  close(listening);
}

// Or the ranks of a model, which are limited before they compute, would be slow without a word.
TEST_F(SandboxTest, TilesAreGrantedAsWithoutIt) {
  const auto request = [] {
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;
    return ErrnoIf(syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0);
  };
  EXPECT_EQ(Limited(request), InProcess(request));
}

TEST_F(SandboxTest, ABugStillEndsInASignal) {
  EXPECT_EQ(Limited([]() -> int { std::abort(); }), 1000 + SIGABRT);
}
#endif

}  // namespace
}  // namespace skald::cli
