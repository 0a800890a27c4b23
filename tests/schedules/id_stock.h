/// IdStock: the pages of one group, or the states, handed out in any order, shared by count.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "sim/seeded.h"

namespace skald::schedules {

class IdStock {
 public:
  explicit IdStock(int32_t count) : holders_(static_cast<size_t>(count), 0) {
    for (int32_t id = 0; id < count; ++id) free_.push_back(id);
  }

  /// One that nobody has.
  int32_t Take(sim::Seeded* random) {
    CHECK(!free_.empty());
    const auto last = static_cast<int64_t>(free_.size()) - 1;
    std::swap(free_[static_cast<size_t>(random->Between(0, last))], free_.back());
    const int32_t id = free_.back();
    free_.pop_back();
    holders_[static_cast<size_t>(id)] = 1;
    return id;
  }
  void Share(int32_t id) { ++holders_[static_cast<size_t>(id)]; }
  /// True if nobody has it any more.
  bool Drop(int32_t id) {
    if (--holders_[static_cast<size_t>(id)] > 0) return false;
    free_.push_back(id);
    return true;
  }

 private:
  std::vector<int> holders_;
  std::vector<int32_t> free_;
};

}  // namespace skald::schedules
