#include "base/short_turns.h"

#include <time.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "base/thread_pool.h"

namespace skald {
namespace {

// A rest that took so much longer than asked was waiting: somebody else's program wants the
// processors.
constexpr double kWaited = 0.5e-3;

}  // namespace

ShortTurns::ShortTurns(double rest_seconds)
    : rest_(rest_seconds), cores_(AvailableCores()), end_(clock_.Now() + kWanted) {}

void ShortTurns::MayRest() {
  if (clock_.Now() < end_) return;
  LearnFrom(Sleep(RestSeconds()));
  end_ = clock_.Now() + TurnSeconds();
}

ShortTurns::Rest ShortTurns::Sleep(double seconds) {
  const CpuClock process = CpuClock::OfProcess();
  const double before = process.Now();
  const Stopwatch watch;
  const timespec time = {.tv_sec = 0, .tv_nsec = static_cast<long>(seconds * 1e9)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
  return {.asked = seconds, .took = watch.Seconds(), .used = process.Now() - before};
}

// Whoever wakes gets a processor at once, because it has slept, and so learns little from that:
// what counts is whether the threads of this process left one free meanwhile.
bool ShortTurns::ShowsAFullMachine(const Rest& rest, int cores) {
  return rest.used > (cores - 0.5) * rest.took || rest.took > rest.asked + kWaited;
}

void ShortTurns::LearnFrom(const Rest& rest) {
  undisturbed_ = ShowsAFullMachine(rest, cores_) ? 0 : std::min(undisturbed_ + 1, kSurely);
}

}  // namespace skald
