/// Clock: the two times a server needs. I/O thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/stopwatch.h"

namespace skald::server {

/// See above.
class Clock {
 public:
  /// `unix_seconds` tells the time of day, in seconds since 1970.
  explicit Clock(std::function<int64_t()> unix_seconds) : unix_seconds_(std::move(unix_seconds)) {}

  /// Seconds since the clock was made. Never goes back, whatever happens to the time of day.
  double Now() const { return watch_.Seconds(); }
  int64_t UnixSeconds() const { return unix_seconds_(); }

 private:
  Stopwatch watch_;
  std::function<int64_t()> unix_seconds_;
};

}  // namespace skald::server
