#include "ranks/thread_ranks.h"

#include <algorithm>

#include "base/check.h"

namespace skald::ranks {
namespace {

void CopyColumns(const Columns& from, const Columns& to) {
  for (int64_t row = 0; row < to.row_count; ++row) {
    for (int64_t run = 0; run < from.runs; ++run) {
      const int64_t first = from.first + run * from.run_stride;
      std::copy_n(from.rows + row * from.stride + first, from.count,
                  to.rows + row * to.stride + first);
    }
  }
}

}  // namespace

void Barrier::Wait() {
  // It cannot change before this thread has arrived.
  const uint32_t round = round_.Get();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
    // Before the others are let go, for they may come again at once.
    arrived_.store(0, std::memory_order_relaxed);
    round_.Add(1);
    round_.Wake();
    return;
  }
  round_.AwaitOther(round);
}

ThreadRanks::ThreadRanks(int count) : barrier_(count), given_(static_cast<size_t>(count)) {
  CHECK(count >= 1);
  for (int rank = 0; rank < count; ++rank) ends_.emplace_back(this, rank);
}

void ThreadRanks::End::Gather(const Columns& own) {
  all_.given_[static_cast<size_t>(rank_)] = own;
  all_.barrier_.Wait();
  CopyOthers(own);
  // Nobody goes on to write what another still reads.
  all_.barrier_.Wait();
}

void ThreadRanks::End::GatherToFirst(const Columns& own) {
  all_.given_[static_cast<size_t>(rank_)] = own;
  all_.barrier_.Wait();
  if (rank_ == 0) CopyOthers(own);
  all_.barrier_.Wait();
}

void ThreadRanks::End::CopyOthers(const Columns& own) const {
  for (const Columns& other : all_.given_) {
    if (other.rows == own.rows) continue;
    DCHECK(other.row_count == own.row_count);
    CopyColumns(other, own);
  }
}

}  // namespace skald::ranks
