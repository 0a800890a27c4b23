#include "chat/budget.h"

namespace skald::chat {

bool Budget::SpendMore(int64_t count) {
  if (exhausted()) return false;
  const int64_t left = at_hand_ + later_ - count;
  if (left < 0) return End(Limit::kSteps);
  if (stop_()) return End(Limit::kStopped);
  at_hand_ = std::min(left, kStepsPerLook);
  later_ = left - at_hand_;
  return true;
}

}  // namespace skald::chat
