/// TokenBucket: a rate limit. So much a minute in the mean, as much at once. On the clock of who
/// asks; a value, without threads or timers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace skald::server {

/// Full at first. A limit of 0 a minute is none.
class TokenBucket {
 public:
  /// What it holds at `now`, never more than a minute's worth.
  double Level(int64_t per_minute, double now) const {
    const auto most = static_cast<double>(per_minute);
    return std::clamp(most - spent_ + (now - since_) * most / 60, 0.0, most);
  }
  /// Seconds until it holds `amount`, which must be at most a minute's worth; 0 if it does now.
  double SecondsUntil(int64_t per_minute, double amount, double now) const {
    const double missing = amount - Level(per_minute, now);
    return missing <= 0 ? 0 : missing * 60 / static_cast<double>(per_minute);
  }
  /// Takes out (or puts back, if negative). Below nothing it does not go.
  void Take(int64_t per_minute, double amount, double now) {
    const auto most = static_cast<double>(per_minute);
    spent_ = std::clamp(most - Level(per_minute, now) + amount, 0.0, most);
    since_ = now;
  }

 private:
  double spent_ = 0;  // of a full bucket, at since_
  double since_ = 0;
};

}  // namespace skald::server
