#include "cli/interrupt.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace skald::cli {

namespace {

// A signal handler gets no argument from us, so what it writes must have static storage. These are
// the only such variables of skald; a lock-free atomic is what a handler may touch
// ([support.signal]).
std::atomic<bool> interrupted{false};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<bool>::is_always_lock_free);
// An eventfd. Made by the first scope and never closed: a handler on another thread must not write
// into a file that got its number.
std::atomic<int> bell{-1};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<int>::is_always_lock_free);

void OnInterrupt(int) {
  const int error = errno;
  interrupted.store(true, std::memory_order_relaxed);
  constexpr uint64_t kOne = 1;
  [[maybe_unused]] const ssize_t written =
      write(bell.load(std::memory_order_relaxed), &kOne, sizeof(kOne));
  errno = error;
}

}  // namespace

InterruptScope::InterruptScope() {
  interrupted.store(false, std::memory_order_relaxed);
  if (bell.load(std::memory_order_relaxed) < 0)
    bell.store(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), std::memory_order_relaxed);
  uint64_t rung = 0;  // in the scope before
  [[maybe_unused]] const ssize_t taken =
      read(bell.load(std::memory_order_relaxed), &rung, sizeof(rung));
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  // SA_RESETHAND gives the second Ctrl-C back to the system; SA_RESTART keeps system calls of the
  // engine and of libraries from failing with EINTR because of the first.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

InterruptScope::~InterruptScope() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

int InterruptScope::Descriptor() { return bell.load(std::memory_order_relaxed); }

bool InterruptScope::Requested() { return interrupted.load(std::memory_order_relaxed); }

}  // namespace skald::cli
