/// PageStock: the pages of one group, handed out in any order, shared by count.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/check.h"
#include "kv/page_id.h"
#include "sim/seeded.h"

namespace skald::schedules {

class PageStock {
 public:
  explicit PageStock(size_t count) : holders_(count, 0) {
    for (size_t page = 0; page < count; ++page) free_.push_back(static_cast<kv::PageId>(page));
  }

  bool empty() const { return free_.empty(); }
  bool is_shared(kv::PageId page) const { return holders_[static_cast<size_t>(page)] > 1; }

  kv::PageId Take(sim::Seeded* random) {
    CHECK(!free_.empty());
    const auto last = static_cast<int64_t>(free_.size()) - 1;
    std::swap(free_[static_cast<size_t>(random->Between(0, last))], free_.back());
    const kv::PageId page = free_.back();
    free_.pop_back();
    holders_[static_cast<size_t>(page)] = 1;
    return page;
  }
  void Share(kv::PageId page) { ++holders_[static_cast<size_t>(page)]; }
  /// True if nobody has it any more.
  bool Drop(kv::PageId page) {
    if (--holders_[static_cast<size_t>(page)] > 0) return false;
    free_.push_back(page);
    return true;
  }

 private:
  std::vector<int> holders_;
  std::vector<kv::PageId> free_;
};

}  // namespace skald::schedules
