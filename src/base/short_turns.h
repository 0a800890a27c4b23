/// ShortTurns: how a thread that gives way (GiveWay) does so within some tenths of a millisecond.
///
/// The system takes a processor back at its next tick, up to 4 ms later, and a step of the engine
/// waits with the one of its threads that lacks it. So work that is long rests now and then: where
/// all processors are wanted a short sleep lasts until the system thinks it is this thread's turn
/// again, and where one is free it lasts as long as it was asked to.
#pragma once

#include "base/cpu_clock.h"

namespace skald {

/// For the thread that made it.
class ShortTurns {
 public:
  /// Sleeps if a turn is over; else costs about 0.3 us. Long work calls it every 0.2 ms.
  void MayRest();

 private:
  // Processor time of a turn.
  static constexpr double kWanted = 0.25e-3;
  static constexpr double kFree = 2e-3;  // of which a rest is a fifth

  CpuClock clock_;
  int undisturbed_ = 0;  // rests in a row
  double end_ = clock_.Now() + kWanted;
};

}  // namespace skald
