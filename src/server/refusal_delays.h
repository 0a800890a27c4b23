/// RefusalDelays: how long the refusal of a wrong key waits.
///
/// A few wrong keys of an address are refused at once; who goes on waits longer each time, up to
/// kMostSeconds. Only refusals wait: a right key from the same address (a proxy's, say) is served
/// at once. What is kept is bounded: kMostAddresses, of which those that were refused longest ago
/// are forgotten, and kMostWaiting refusals that wait; more are refused at once. I/O thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace skald::server {

/// See above.
class RefusalDelays {
 public:
  static constexpr double kFree = 5;             ///< refusals at once
  static constexpr double kForgottenAfter = 10;  ///< seconds, each of them
  static constexpr double kMostSeconds = 4;
  static constexpr size_t kMostAddresses = 1024;
  static constexpr int64_t kMostWaiting = 128;

  /// One more refusal for this address: how many seconds it waits. If it does, the caller says
  /// WaitIsOver once.
  double Next(const std::string& address, double now);
  void WaitIsOver() { --waiting_; }
  size_t addresses() const { return refused_.size(); }

 private:
  struct Refused {
    double count = 0;  // as of `at`; one is forgotten every kForgottenAfter seconds
    double at = 0;
  };
  void ForgetOldest();

  std::unordered_map<std::string, Refused> refused_;
  int64_t waiting_ = 0;
};

}  // namespace skald::server
