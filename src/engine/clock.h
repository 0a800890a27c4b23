/// Clock: where time enters the engine. Times decide when something is computed, never what.
#pragma once

#include "base/stopwatch.h"

namespace skald::engine {

/// The simulation has one of its own that only moves when told.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic.
  virtual double Seconds() const = 0;
};

/// Real time, from 0 at construction.
class RealClock : public Clock {
 public:
  double Seconds() const override { return watch_.Seconds(); }

 private:
  Stopwatch watch_;
};

}  // namespace skald::engine
