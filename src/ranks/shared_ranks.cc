#include "ranks/shared_ranks.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/spin.h"
#include "base/stopwatch.h"

namespace skald::ranks {
namespace {

constexpr uint64_t kLine = 64;  // bytes that two ranks must not write at the same time
// Rows that a block holds, of the widest: a step of one row passes in one piece, and so does a
// chunk of a prompt of rows that are a tenth of the logits' width.
constexpr int64_t kBlockRows = 4;

// std::atomic::wait serves threads of one process only, and has no bound.
void SleepWhile(const std::atomic<uint32_t>& word, uint32_t value, double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timespec bound = {whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &bound, nullptr, 0);
}

void WakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

// Calls `copy(floats of the row, floats of the block)` for each run of columns of some rows.
template <typename Copy>
void ForEachRun(const Columns& columns, float* block, const Copy& copy) {
  for (int64_t row = 0; row < columns.row_count; ++row) {
    for (int64_t run = 0; run < columns.runs; ++run) {
      copy(columns.rows + row * columns.stride + columns.first + run * columns.run_stride, block);
      block += columns.count;
    }
  }
}

}  // namespace

struct SharedRanks::Meeting {
  alignas(kLine) std::atomic<uint32_t> arrived{0};
  alignas(kLine) std::atomic<uint32_t> round{0};
  alignas(kLine) std::atomic<uint32_t> lost{0};
};

struct alignas(kLine) SharedRanks::Given {
  Columns columns;  // of these rows; the pointer is the giver's and means nothing to others
  int64_t first_row = 0;
  int64_t all_rows = 0;

  float* floats() { return reinterpret_cast<float*>(this + 1); }
};

Result<SharedRanks> SharedRanks::Create(const Sizes& sizes) {
  CHECK(sizes.count >= 1 && sizes.row_floats >= 1);
  const uint64_t block =
      (sizeof(Given) + static_cast<uint64_t>(sizes.row_floats * kBlockRows) * sizeof(float) +
       kLine - 1) /
      kLine * kLine;
  const uint64_t bytes = sizeof(Meeting) + 2 * static_cast<uint64_t>(sizes.count) * block;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Status(ErrorCode::kResourceExhausted,
                  "cannot share " + std::to_string(bytes) + " bytes of memory among ranks");
  }
  // It is zero, which is how a Meeting begins.
  return SharedRanks(sizes, static_cast<std::byte*>(memory), bytes);
}

SharedRanks::SharedRanks(const Sizes& sizes, std::byte* memory, uint64_t bytes)
    : sizes_(sizes), memory_(memory), bytes_(bytes) {}

SharedRanks::SharedRanks(SharedRanks&& other) noexcept
    : sizes_(other.sizes_), memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}

SharedRanks::~SharedRanks() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

SharedRanks::Meeting& SharedRanks::meeting() const { return *reinterpret_cast<Meeting*>(memory_); }

SharedRanks::Given& SharedRanks::given(int rank, uint32_t round) const {
  const uint64_t block = (bytes_ - sizeof(Meeting)) / (2 * static_cast<uint64_t>(sizes_.count));
  const uint64_t index = 2 * static_cast<uint64_t>(rank) + round % 2;
  return *reinterpret_cast<Given*>(memory_ + sizeof(Meeting) + index * block);
}

void SharedRanks::Break() {
  meeting().lost.store(1, std::memory_order_release);
  // The word that others sleep on must change, or one that is about to sleep would miss it.
  meeting().round.fetch_add(1, std::memory_order_release);
  WakeAll(meeting().round);
}

bool SharedRanks::lost() const { return meeting().lost.load(std::memory_order_acquire) != 0; }

bool SharedRanks::Meet() {
  Meeting& all = meeting();
  // It cannot change before this rank has arrived, but by Break. Acquire: who sees the round that
  // Break made sees that the ranks are lost, too, and does not sleep.
  const uint32_t round = all.round.load(std::memory_order_acquire);
  if (lost()) return false;
  if (all.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      static_cast<uint32_t>(sizes_.count)) {
    // Before the others are let go, for they may come again at once.
    all.arrived.store(0, std::memory_order_relaxed);
    all.round.fetch_add(1, std::memory_order_release);
    WakeAll(all.round);
    return !lost();
  }
  for (int spin = 0; spin < kSpinRounds; ++spin) {
    if (all.round.load(std::memory_order_acquire) != round) return !lost();
    Pause();
  }
  const Stopwatch watch;
  while (all.round.load(std::memory_order_acquire) == round) {
    const double left = sizes_.patience_seconds - watch.Seconds();
    if (left <= 0) {
      Break();
      return false;
    }
    SleepWhile(all.round, round, left);
  }
  return !lost();
}

// One meeting a piece is enough: each rank has two blocks, and writes one again only when all have
// come to the meeting behind the one whose rows it held, so nobody reads it any more.
void SharedRanks::End::Pass(const Columns& own, Takers takers) {
  const bool takes = takers == Takers::kAll || rank_ == 0;
  const int64_t width = own.count * own.runs;
  const int64_t capacity = all_.sizes_.row_floats * kBlockRows;
  CHECK(width <= capacity);
  // Ranks differ in their widths, so in their pieces: all go on until the last has given all, which
  // each of them sees in the same blocks.
  int64_t given_rows = 0;
  for (bool more = true; more;) {
    const int64_t most = width > 0 ? capacity / width : own.row_count;
    Columns piece = own;
    piece.rows += given_rows * own.stride;
    piece.row_count = std::min(own.row_count - given_rows, most);
    Given& block = all_.given(rank_, round_);
    block = {piece, given_rows, own.row_count};
    ForEachRun(piece, block.floats(),
               [&](const float* row, float* floats) { std::copy_n(row, own.count, floats); });
    given_rows += piece.row_count;
    if (!all_.Meet()) return;
    more = false;
    for (int rank = 0; rank < all_.sizes_.count; ++rank) {
      Given& other = all_.given(rank, round_);
      CHECK(other.all_rows == own.row_count);
      more |= other.first_row + other.columns.row_count < other.all_rows;
      if (rank == rank_ || !takes) continue;
      Columns to = other.columns;
      to.rows = own.rows + other.first_row * own.stride;
      to.stride = own.stride;
      ForEachRun(to, other.floats(),
                 [&](float* row, const float* floats) { std::copy_n(floats, to.count, row); });
    }
    ++round_;
  }
}

}  // namespace skald::ranks
