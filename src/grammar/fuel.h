/// Fuel: what compiling a grammar may still cost.
#pragma once

#include <cstdint>
#include <string>

#include "grammar/limits.h"
#include "skald/status.h"

namespace skald::grammar {

/// Counted down by whoever does work in proportion to the input; checked in one place, the caller
/// of the function that ran dry.
class Fuel {
 public:
  explicit Fuel(int64_t steps = kCompileSteps) : left_(steps) {}

  /// False once more was spent than there was.
  bool Spend(int64_t steps) {
    left_ -= steps;
    return left_ >= 0;
  }
  bool IsSpent() const { return left_ < 0; }
  /// Below 0 once it ran dry.
  int64_t left() const { return left_; }

  /// A part of what is left, for work that may be given up: one `parts`-th.
  Fuel Share(int64_t parts) const { return Fuel(left_ / parts); }
  /// What a Share cost, whether it was enough or not. False as Spend.
  bool TakeBack(int64_t parts, const Fuel& share) {
    return Spend(left_ / parts - (share.left_ > 0 ? share.left_ : 0));
  }

  /// What is said then.
  static Status Error() {
    return Status(ErrorCode::kInvalidArgument,
                  "takes more than " + std::to_string(kCompileSteps) + " steps to compile");
  }

 private:
  int64_t left_;
};

}  // namespace skald::grammar
