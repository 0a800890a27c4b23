#include "base/short_turns.h"

#include <time.h>

#include <algorithm>

#include "base/stopwatch.h"

namespace skald {
namespace {

// Measured beside two threads that want both processors (Linux 6.18): behind a rest of 50 us this
// one goes on at once in half of all cases, since it has not had its tenth, behind 200 us it waits
// for the next tick in six of ten. With 500 us a stream beside it is late less often than with 200
// (docs/log.md, 2026-11-29). One that takes far longer than asked was waiting.
constexpr long kRestNanoseconds = 500'000;
constexpr double kWaited = 1.0e-3;
// Rests in a row that nobody disturbed, behind which the processors are taken to be free.
constexpr int kSurely = 4;

}  // namespace

void ShortTurns::MayRest() {
  if (clock_.Now() < end_) return;
  const Stopwatch rest;
  const timespec time = {.tv_sec = 0, .tv_nsec = kRestNanoseconds};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
  undisturbed_ = rest.Seconds() > kWaited ? 0 : std::min(undisturbed_ + 1, kSurely);
  end_ = clock_.Now() + (undisturbed_ < kSurely ? kWanted : kFree);
}

}  // namespace skald
