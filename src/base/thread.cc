#include "base/thread.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

namespace skald {
namespace {

// Weighs 110 where a thread that does not give way weighs 1024 (sched_prio_to_weight in Linux).
constexpr int kNiceness = 10;
constexpr int kMostNiceness = 19;

}  // namespace

// On Linux niceness and policy belong to a thread, not to its process; 0 is the calling one. A
// system that refuses leaves the thread as it is: nothing but times depends on it.
void GiveWay() {
  // Who started the process with another policy, an idle one perhaps, has said what it is worth.
  if (sched_getscheduler(0) == SCHED_OTHER) {
    const sched_param none = {};
    sched_setscheduler(0, SCHED_BATCH, &none);
  }
  setpriority(PRIO_PROCESS, 0, std::min(getpriority(PRIO_PROCESS, 0) + kNiceness, kMostNiceness));
}

}  // namespace skald
