/// Fuel: what compiling a grammar, or making a mask, may still cost.
#pragma once

#include <cstdint>
#include <string>

#include "grammar/limits.h"
#include "skald/grammar.h"
#include "skald/status.h"
#include "skald/stop_check.h"

namespace skald::grammar {

/// Counted down by whoever does work in proportion to the input; checked in one place, the caller
/// of the function that ran dry. Asks now and then whether to stop, and then is dry, too.
class Fuel {
 public:
  explicit Fuel(int64_t steps = kCompileSteps, StopCheck stop = {}) : left_(steps), stop_(stop) {
    SetLook();
  }

  /// False once more was spent than there was.
  bool Spend(int64_t steps) {
    left_ -= steps;
    return left_ >= look_ || Look();
  }
  bool IsSpent() const { return left_ < 0; }
  /// Below 0 once it ran dry.
  int64_t left() const { return left_; }

  /// A part of what is left, for work that may be given up: one `parts`-th.
  Fuel Share(int64_t parts) const { return Fuel(left_ / parts, stop_); }
  /// What a Share cost, whether it was enough or not. False as Spend.
  bool TakeBack(int64_t parts, const Fuel& share) {
    if (share.is_stopped_) Stop();
    return Spend(left_ / parts - (share.left_ > 0 ? share.left_ : 0));
  }

  /// What is said then.
  Status Error() const {
    if (is_stopped_) return Status(ErrorCode::kCancelled, "compiling the grammar was stopped");
    return Status(ErrorCode::kInvalidArgument,
                  "takes more than " + std::to_string(kCompileSteps) + " steps to compile");
  }

 private:
  // At most 0.2 ms: about as long as who shares its processor may keep it from others.
  static constexpr int64_t kStepsPerLook = 2'000;

  void SetLook() { look_ = left_ > kStepsPerLook ? left_ - kStepsPerLook : 0; }
  void Stop() {
    is_stopped_ = true;
    left_ = -1;
  }
  bool Look() {
    if (left_ >= 0 && stop_()) Stop();
    SetLook();
    return left_ >= 0;
  }

  int64_t left_;
  int64_t look_ = 0;  // when so much is left it is asked whether to stop
  StopCheck stop_;
  bool is_stopped_ = false;
};

/// What `compile(&fuel)` gives within `budget`, which it counts down.
template <typename Compile>
auto WithinBudget(CompileBudget* budget, const Compile& compile) {
  Fuel fuel(budget->steps, budget->stop);
  auto made = compile(&fuel);
  budget->steps = fuel.left();
  return made;
}

}  // namespace skald::grammar
