#include "server/refusal_delays.h"

#include <algorithm>

namespace skald::server {

void RefusalDelays::ForgetOldest() {
  const auto oldest =
      std::min_element(refused_.begin(), refused_.end(),
                       [](const auto& a, const auto& b) { return a.second.at < b.second.at; });
  if (oldest != refused_.end()) refused_.erase(oldest);
}

double RefusalDelays::Next(const std::string& address, double now) {
  if (refused_.size() >= kMostAddresses && !refused_.contains(address)) ForgetOldest();
  Refused& refused = refused_[address];
  refused.count = std::max(0.0, refused.count - (now - refused.at) / kForgottenAfter) + 1;
  refused.at = now;
  // Bounded, so that who stops is forgotten in a minute.
  refused.count = std::min(refused.count, kFree + kMostSeconds);
  const double seconds = refused.count - kFree;
  if (seconds <= 0 || waiting_ >= kMostWaiting) return 0;
  ++waiting_;
  return seconds;
}

}  // namespace skald::server
