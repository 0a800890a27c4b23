/// LeastRate: whether a client sends or takes its bytes at a rate worth waiting for. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace skald::server {

/// Judges windows of time one by one: bytes of a fast beginning buy no slow end.
class LeastRate {
 public:
  LeastRate(double bytes_per_second, double window_seconds)
      : bytes_per_second_(bytes_per_second), window_seconds_(window_seconds) {}

  /// There is something to move from now on. Nothing happens if there was already.
  void Start(double now) {
    if (active_) return;
    active_ = true;
    begin_ = began_ = now;
    moved_ = total_ = 0;
  }
  void Stop() { active_ = false; }
  void Moved(size_t bytes) {
    moved_ += static_cast<double>(bytes);
    total_ += static_cast<double>(bytes);
  }
  /// To be asked about every second; a window is judged when it is over.
  bool TooSlow(double now) {
    if (!active_ || now - begin_ <= window_seconds_) return false;
    const bool slow = moved_ < bytes_per_second_ * (now - begin_);
    begin_ = now;
    moved_ = 0;
    return slow;
  }

  bool active() const { return active_; }
  /// Seconds since Start.
  double Seconds(double now) const { return active_ ? now - began_ : 0; }
  /// Bytes a second since Start. Requires that time has passed since.
  double Average(double now) const { return total_ / (now - began_); }

 private:
  double bytes_per_second_;
  double window_seconds_;
  bool active_ = false;
  double began_ = 0;
  double begin_ = 0;  // of the window
  double moved_ = 0;  // in it
  double total_ = 0;
};

}  // namespace skald::server
