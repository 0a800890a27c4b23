#include "cli/interrupt.h"

#include <signal.h>

#include <atomic>

namespace skald::cli {

namespace {

// A signal handler gets no argument from us, so what it writes must have static storage. This is
// the only such variable of skald; a lock-free atomic is what a handler may touch
// ([support.signal]).
std::atomic<bool> interrupted{false};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<bool>::is_always_lock_free);

void OnInterrupt(int) { interrupted.store(true, std::memory_order_relaxed); }

}  // namespace

InterruptScope::InterruptScope() {
  interrupted.store(false, std::memory_order_relaxed);
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

bool InterruptScope::Requested() { return interrupted.load(std::memory_order_relaxed); }

}  // namespace skald::cli
