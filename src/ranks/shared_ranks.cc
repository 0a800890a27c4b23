#include "ranks/shared_ranks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/futex.h"
#include "base/spin.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "ranks/column_parts.h"

namespace skald::ranks {
namespace {

constexpr uint64_t kLine = 64;  // bytes that two ranks must not write at the same time

// Of ranks that have cores of their own: to be woken takes 50 us, and in a prompt ranks wait for
// each other some hundred times a second, for about as long.
constexpr int kPatientRounds = 20 * kSpinRounds;

}  // namespace

struct SharedRanks::Meeting {
  alignas(kLine) std::atomic<uint32_t> arrived{0};
  alignas(kLine) std::atomic<uint32_t> round{0};
  alignas(kLine) std::atomic<uint32_t> lost{0};
};

struct alignas(kLine) SharedRanks::Pulse {
  std::atomic<uint32_t> beats{0};
};

struct alignas(kLine) SharedRanks::Given {
  Columns columns;  // all of them; the pointer is the giver's and means nothing to others
  int64_t begin = 0;
  int64_t floats = 0;  // of the columns from `begin` on, which stand behind this

  float* block() { return reinterpret_cast<float*>(this + 1); }
  bool is_last() const { return begin + floats == FloatsOf(columns); }
};

uint64_t SharedRanks::BytesFor(int count) {
  const uint64_t block = sizeof(Given) + kBlockFloats * sizeof(float);
  return sizeof(Meeting) + static_cast<uint64_t>(count) * (sizeof(Pulse) + 2 * block);
}

Result<SharedRanks> SharedRanks::Create(int count) {
  CHECK(count >= 1);
  SharedRanks ranks(count, memfd_create("skald-ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const uint64_t bytes = BytesFor(count);
  // It is zero, which is how a Meeting begins. Sealed: a process that cut it would kill all.
  const bool made = ranks.descriptor_ >= 0 &&
                    ftruncate(ranks.descriptor_, static_cast<off_t>(bytes)) == 0 &&
                    fcntl(ranks.descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
  if (!made || !ranks.Map().ok()) {
    return Status(ErrorCode::kResourceExhausted,
                  "cannot share " + std::to_string(bytes) + " bytes of memory among ranks");
  }
  return ranks;
}

Result<SharedRanks> SharedRanks::Open(int descriptor) {
  struct stat facts {};
  const bool known = fstat(descriptor, &facts) == 0 && facts.st_size > 0;
  const auto bytes = known ? static_cast<uint64_t>(facts.st_size) : 0;
  // The front is shorter than the part of a rank.
  const uint64_t count = std::min(bytes / (BytesFor(1) - BytesFor(0)), uint64_t{INT32_MAX});
  SharedRanks ranks(static_cast<int>(count), descriptor);
  const bool fits = count >= 1 && bytes == BytesFor(ranks.count()) &&
                    (fcntl(descriptor, F_GET_SEALS) & F_SEAL_SHRINK) != 0;
  if (!fits) {
    return Status(ErrorCode::kInvalidArgument,
                  "descriptor " + std::to_string(descriptor) + " is no memory of ranks");
  }
  RETURN_IF_ERROR(ranks.Map());
  return ranks;
}

Status SharedRanks::Map() {
  void* memory =
      mmap(nullptr, BytesFor(count_), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) {
    return Status(ErrorCode::kResourceExhausted, "cannot map the memory that ranks share");
  }
  memory_ = static_cast<std::byte*>(memory);
  return Ok();
}

SharedRanks::SharedRanks(int count, int descriptor)
    : count_(count),
      descriptor_(descriptor),
      spin_rounds_(count <= AvailableCores() ? kPatientRounds : kSpinRounds) {}

SharedRanks::SharedRanks(SharedRanks&& other) noexcept
    : count_(other.count_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      spin_rounds_(other.spin_rounds_),
      memory_(std::exchange(other.memory_, nullptr)) {}

SharedRanks::~SharedRanks() {
  if (memory_ != nullptr) munmap(memory_, BytesFor(count_));
  if (descriptor_ >= 0) close(descriptor_);
}

SharedRanks::Meeting& SharedRanks::meeting() const { return *reinterpret_cast<Meeting*>(memory_); }

SharedRanks::Pulse& SharedRanks::pulse(int rank) const {
  return *(reinterpret_cast<Pulse*>(memory_ + sizeof(Meeting)) + rank);
}

SharedRanks::Given& SharedRanks::given(int rank, uint32_t round) const {
  constexpr uint64_t kBlock = sizeof(Given) + kBlockFloats * sizeof(float);
  const uint64_t index = 2 * static_cast<uint64_t>(rank) + round % 2;
  const uint64_t front = sizeof(Meeting) + static_cast<uint64_t>(count_) * sizeof(Pulse);
  return *reinterpret_cast<Given*>(memory_ + front + index * kBlock);
}

void SharedRanks::Break() {
  meeting().lost.store(1, std::memory_order_release);
  // The word that others sleep on must change, or one that is about to sleep would miss it.
  meeting().round.fetch_add(1, std::memory_order_release);
  FutexWakeAll(meeting().round);
}

bool SharedRanks::lost() const { return meeting().lost.load(std::memory_order_acquire) != 0; }

void SharedRanks::Beat(int rank) { pulse(rank).beats.fetch_add(1, std::memory_order_relaxed); }

uint32_t SharedRanks::beats(int rank) const {
  return pulse(rank).beats.load(std::memory_order_relaxed);
}

bool SharedRanks::Meet() {
  Meeting& all = meeting();
  // It cannot change before this rank has arrived, but by Break. Acquire: who sees the round that
  // Break made sees that the ranks are lost, too, and does not sleep.
  const uint32_t round = all.round.load(std::memory_order_acquire);
  if (lost()) return false;
  if (all.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(count_)) {
    // Before the others are let go, for they may come again at once.
    all.arrived.store(0, std::memory_order_relaxed);
    all.round.fetch_add(1, std::memory_order_release);
    FutexWakeAll(all.round);
    return !lost();
  }
  for (int spin = 0; spin < spin_rounds_; ++spin) {
    if (all.round.load(std::memory_order_acquire) != round) return !lost();
    Pause();
  }
  while (all.round.load(std::memory_order_acquire) == round) FutexSleep(all.round, round);
  return !lost();
}

// One meeting a piece is enough: each rank has two blocks, and writes one again only when all have
// come to the meeting behind the one whose floats it held, so nobody reads it any more.
void SharedRanks::End::Pass(const Columns& own, Takers takers) {
  const bool takes = takers == Takers::kAll || rank_ == 0;
  // Ranks differ in their widths, so in their pieces: all go on until the last has given all, which
  // each of them sees in the same blocks.
  int64_t given = 0;
  for (bool more = true; more;) {
    const int64_t floats = std::min(FloatsOf(own) - given, kBlockFloats);
    Given& piece = all_.given(rank_, round_);
    piece.columns = own;
    piece.begin = given;
    piece.floats = floats;
    CopyOut(own, given, floats, piece.block());
    given += floats;
    if (!all_.Meet()) return;
    more = false;
    for (int rank = 0; rank < all_.count_; ++rank) {
      Given& other = all_.given(rank, round_);
      CHECK(other.columns.row_count == own.row_count);
      more |= !other.is_last();
      if (rank == rank_ || !takes) continue;
      Columns place = other.columns;
      place.rows = own.rows;
      place.stride = own.stride;
      CopyIn(other.block(), other.begin, other.floats, place);
    }
    ++round_;
  }
}

}  // namespace skald::ranks
