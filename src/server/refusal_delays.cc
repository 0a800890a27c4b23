#include "server/refusal_delays.h"

#include <algorithm>

namespace skald::server {

double RefusalDelays::Refused::CountAt(double now) const {
  constexpr double kForgottenPerSecond = kFree / 60;
  return std::max(0.0, count - (now - at) * kForgottenPerSecond);
}

RefusalDelays::Refused& RefusalDelays::Of(const std::string& address, double now) {
  const auto found = refused_.find(address);
  if (found != refused_.end()) return found->second;
  if (refused_.size() >= kMostAddresses)
    std::erase_if(refused_, [&](const auto& entry) { return entry.second.CountAt(now) == 0; });
  // Forgetting one that still counts would let a crowd of addresses free each other.
  if (refused_.size() >= kMostAddresses) return others_;
  return refused_[address];
}

double RefusalDelays::Next(const std::string& address, double now) {
  Refused& refused = Of(address, now);
  // Bounded, so that who stops is forgotten in two minutes.
  refused.count = std::min(refused.CountAt(now) + 1, kFree + kMostSeconds / kStepSeconds);
  refused.at = now;
  return std::max(0.0, refused.count - kFree) * kStepSeconds;
}

std::optional<RefusalDelays::Place> RefusalDelays::TryHold() {
  if (held_ >= kMostHeld) return std::nullopt;
  return Place(held_);
}

}  // namespace skald::server
