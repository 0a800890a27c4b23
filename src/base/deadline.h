/// Deadline: a moment some seconds from when it was made, by the monotonic clock.
#pragma once

#include "base/stopwatch.h"

namespace skald {

class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds) {}
  /// Seconds that are left; below 0 when it has passed.
  double Left() const { return seconds_ - since_.Seconds(); }
  bool HasPassed() const { return Left() <= 0; }

 private:
  Stopwatch since_;
  double seconds_;
};

}  // namespace skald
