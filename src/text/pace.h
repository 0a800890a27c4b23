/// Pace: how far the work of one call may go on before it asks whether to stop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "skald/status.h"
#include "skald/stop_check.h"

namespace skald::text {

/// Counts units of work: about the bytes of text that are handled.
class Pace {
 public:
  explicit Pace(StopCheck stop = {}) : stop_(stop) {}

  /// Counts `units` more. False if the work is to end; from then on always.
  bool Go(size_t units) {
    left_ -= static_cast<int64_t>(units);
    return left_ >= 0 || Ask();
  }
  static Status Stopped() {
    return Status(ErrorCode::kCancelled, "the text was not encoded to its end: it was stopped");
  }

 private:
  // A unit takes 20 to 200 ns, a look at a clock 300: it is asked each 0.2 to 2 ms.
  static constexpr int64_t kUnitsPerLook = 8192;

  [[gnu::noinline]] bool Ask() {
    stopped_ = stopped_ || stop_();
    if (stopped_) return false;  // left_ stays below 0
    left_ = kUnitsPerLook;
    return true;
  }

  StopCheck stop_;
  int64_t left_ = kUnitsPerLook;
  bool stopped_ = false;
};

}  // namespace skald::text
