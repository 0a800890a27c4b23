#include "cli/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>

#include "base/sanitizers.h"

namespace skald::cli {
namespace {

Status Unsupported(const std::string& what, int error) {
  return Status(ErrorCode::kUnsupported, what + ": " + std::generic_category().message(error));
}

// --- Landlock: glibc has no functions for it, and the headers of Debian 12 know its first versions
// only. Numbers and layout are those of the kernel's <linux/landlock.h>, which never change.

// struct landlock_ruleset_attr with the fields of version 4 (net) and 6 (scopes). A kernel takes a
// shorter one, too, but of a longer one only zeros.
struct Ruleset {
  uint64_t files = 0;
  uint64_t net = 0;
  uint64_t scopes = 0;
};
constexpr uint64_t kFilesV1 = (uint64_t{1} << 13) - 1;  // execute, write, read, make, remove
constexpr uint64_t kFilesV2 = uint64_t{1} << 13;        // link and rename between directories
constexpr uint64_t kFilesV3 = uint64_t{1} << 14;        // truncate
constexpr uint64_t kFilesV5 = uint64_t{1} << 15;        // ioctl of devices
constexpr uint64_t kConnectV4 = uint64_t{1} << 1;       // TCP; to listen is left to LimitCalls
constexpr uint64_t kSocketsV6 = uint64_t{1} << 0;       // abstract ones
constexpr uint64_t kSignalsV6 = uint64_t{1} << 1;

Ruleset RulesetOf(long version) {
  Ruleset ruleset{.files = kFilesV1};
  if (version >= 2) ruleset.files |= kFilesV2;
  if (version >= 3) ruleset.files |= kFilesV3;
  if (version >= 5) ruleset.files |= kFilesV5;
  if (version >= 4) ruleset.net = kConnectV4;
  if (version >= 6) ruleset.scopes = kSocketsV6 | kSignalsV6;
  return ruleset;
}

// A descriptor that closes.
class Descriptor {
 public:
  explicit Descriptor(long number) : number_(static_cast<int>(number)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// Makes what lies in `path` readable. A file takes no right that only directories have.
Status AddReadable(int ruleset, const std::string& path) {
  const Descriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (place.number() < 0) return Ok();
  landlock_path_beneath_attr rule = {
      .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
      .parent_fd = place.number()};
  const auto add = [&] {
    return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  };
  if (add()) return Ok();
  rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
  if (add()) return Ok();
  return Unsupported("Landlock does not take " + path, errno);
}

// --- seccomp

struct ContextRelease {
  void operator()(void* context) const { seccomp_release(context); }
};
using Context = std::unique_ptr<void, ContextRelease>;

// Calls without conditions on their arguments. What the C and C++ libraries, OpenSSL and Asio use
// on behalf of a server that has its sockets, its threads and its model.
constexpr std::array kAllowed = {
    // bytes of connections, and of files that are open
    SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64),
    SCMP_SYS(pwrite64), SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg), SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(lseek), SCMP_SYS(close),
    SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(getdents64),
    // connections that clients open
    SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(shutdown), SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(fcntl),
    // waiting
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_create1), SCMP_SYS(eventfd2), SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime), SCMP_SYS(futex), SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(restart_syscall),
    // memory; mmap and mprotect below
    SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
    // threads and signals of this process; clone, tgkill and prlimit64 below
    SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(exit), SCMP_SYS(exit_group),
    // what harms nobody to know
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(time), SCMP_SYS(getrandom),
    SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getrusage), SCMP_SYS(sysinfo), SCMP_SYS(uname),
    SCMP_SYS(getcpu), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid)};

// Answered as by a kernel that does not know them: libraries then take an older call, whose
// arguments a filter can read.
constexpr std::array kUnknown = {SCMP_SYS(clone3), SCMP_SYS(openat2), SCMP_SYS(statx),
                                 SCMP_SYS(faccessat2)};

// A call that is allowed where (argument & mask) == value.
struct Conditional {
  int call = 0;
  unsigned argument = 0;
  uint64_t mask = 0;
  uint64_t value = 0;
};

int Allow(void* context, const Conditional& rule) {
  // The macros of libseccomp for it are literals of C.
  const scmp_arg_cmp condition = {
      .arg = rule.argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = rule.mask, .datum_b = rule.value};
  return seccomp_rule_add(context, SCMP_ACT_ALLOW, rule.call, 1, condition);
}

int AddRules(void* context, std::optional<int> may_end) {
  for (const int call : kAllowed) {
    if (const int error = seccomp_rule_add(context, SCMP_ACT_ALLOW, call, 0); error < 0)
      return error;
  }
  for (const int call : kUnknown) {
    if (const int error = seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), call, 0); error < 0)
      return error;
  }
  constexpr uint64_t kAll = ~uint64_t{0};
  constexpr uint64_t kInt = 0xffffffffu;      // the kernel reads no more of an int
  constexpr uint64_t kRequestTiles = 0x1023;  // ARCH_REQ_XCOMP_PERM, <asm/prctl.h>
  const auto self = static_cast<uint64_t>(getpid());
  const std::array rules = {
      Conditional{SCMP_SYS(mmap), 2, PROT_EXEC, 0},
      Conditional{SCMP_SYS(mprotect), 2, PROT_EXEC, 0},
      Conditional{SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD},  // no process
      Conditional{SCMP_SYS(openat), 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0},
      Conditional{SCMP_SYS(prlimit64), 2, kAll, 0},  // to read limits
      Conditional{SCMP_SYS(tgkill), 0, kInt, self},  // abort(), which a CHECK ends in
      Conditional{SCMP_SYS(ioctl), 1, kInt, FIONBIO},
      Conditional{SCMP_SYS(ioctl), 1, kInt, FIONREAD},
      Conditional{SCMP_SYS(ioctl), 1, kInt, TCGETS},  // is stderr a terminal?
      Conditional{SCMP_SYS(prctl), 0, kInt, PR_SET_NAME},
      Conditional{SCMP_SYS(sched_setaffinity), 0, kInt, 0},  // a thread moves itself
      // Refused, a process that has not computed yet would do without AMX, at half the speed.
      Conditional{SCMP_SYS(arch_prctl), 0, kInt, kRequestTiles},
  };
  for (const Conditional& rule : rules) {
    if (const int error = Allow(context, rule); error < 0) return error;
  }
  if (!may_end) return 0;
  return Allow(context, {SCMP_SYS(kill), 0, kInt, static_cast<uint64_t>(*may_end)});
}

}  // namespace

Status LimitFiles(std::span<const std::string> readable, Signals signals) {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 0) return Unsupported("this kernel has no Landlock", errno);
  Ruleset attributes = RulesetOf(version);
  if (signals == Signals::kOutside) attributes.scopes &= ~kSignalsV6;
  const size_t bytes = version >= 6 ? sizeof(Ruleset) : version >= 4 ? 16 : 8;
  const Descriptor ruleset(syscall(SYS_landlock_create_ruleset, &attributes, bytes, 0));
  if (ruleset.number() < 0) return Unsupported("Landlock takes no rules", errno);
  for (const std::string& path : readable) {
    const Status status = AddReadable(ruleset.number(), path);
    if (!status.ok()) return status;
  }
  // Without it the kernel would let only root limit itself.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Unsupported("no_new_privs", errno);
  if (syscall(SYS_landlock_restrict_self, ruleset.number(), 0) != 0)
    return Unsupported("Landlock does not take effect", errno);
  return Ok();
}

Status LimitCalls(std::optional<int> may_end) {
  if (kSanitized)
    return Status(ErrorCode::kUnsupported, "this build has a sanitizer, which needs other calls");
  const Context context(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (context == nullptr) return Unsupported("no seccomp filter", ENOMEM);
  // All threads, or none: one that stays free could do everything for the others.
  int error = seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  // A tree, not a list: calls come a hundred thousand times a second.
  if (error == 0) error = seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (error == 0) error = AddRules(context.get(), may_end);
  if (error == 0) error = seccomp_load(context.get());
  if (error < 0) return Unsupported("this kernel takes no seccomp filter", -error);
  return Ok();
}

}  // namespace skald::cli
