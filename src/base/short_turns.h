/// ShortTurns: how a thread that gives way (GiveWay) does so within some tenths of a millisecond.
///
/// The system takes a processor back at its next tick, up to 4 ms later, and a step of the engine
/// waits with the one of its threads that lacks it. So work that is long rests now and then: often,
/// and as long as it was told to, while all processors are wanted, rarely while one is free.
#pragma once

#include "base/cpu_clock.h"

namespace skald {

/// For the thread that made it.
class ShortTurns {
 public:
  /// Rests so many seconds between two turns while all processors are wanted.
  explicit ShortTurns(double rest_seconds = kShortRest);

  /// Sleeps if a turn is over; else costs about 0.3 us. Long work calls it every 0.1 ms.
  void MayRest();

  /// 0.2 ms would be too short: a thread that rested so little goes on at once in half of all
  /// cases, since it has not had its tenth, and waits for the next tick in most others.
  static constexpr double kShortRest = 0.5e-3;

  /// How a rest went, all in seconds.
  struct Rest {
    double asked = 0;
    double took = 0;
    double used = 0;  ///< processor time of the whole process meanwhile
  };
  /// Sleeps so long.
  static Rest Sleep(double seconds);
  /// Whether all of `cores` processors were wanted meanwhile, by this process or by another one.
  static bool ShowsAFullMachine(const Rest& rest, int cores);

  /// What a rest showed decides how long the turns and rests behind it are: MayRest calls this.
  void LearnFrom(const Rest& rest);
  double TurnSeconds() const { return IsFree() ? kFree : kWanted; }  ///< of this thread's processor
  double RestSeconds() const { return IsFree() ? kShortRest : rest_; }

 private:
  // Processor time of a turn.
  static constexpr double kWanted = 0.2e-3;
  static constexpr double kFree = 2e-3;  // of which a short rest is a fifth
  // So many rests in a row with a processor free: one is taken to be free from then on.
  static constexpr int kSurely = 4;

  bool IsFree() const { return undisturbed_ >= kSurely; }

  const CpuClock clock_;
  const double rest_;
  const int cores_;
  int undisturbed_ = 0;
  double end_;
};

}  // namespace skald
