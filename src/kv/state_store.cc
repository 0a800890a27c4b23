#include "kv/state_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/checked_math.h"

namespace skald::kv {

StateStore::StateStore(const StateShape& shape, AlignedBuffer arena)
    : shape_(shape), arena_(std::move(arena)) {}

Result<StateStore> StateStore::Create(const StateShape& shape) {
  CHECK(shape.floats >= 0 && shape.floats % 16 == 0 && shape.slots >= 0);
  const auto bytes = CheckedU64(static_cast<uint64_t>(shape.floats))
                         .Mul(sizeof(float))
                         .Mul(static_cast<uint64_t>(shape.slots))
                         .value();
  if (!bytes) {
    return Status(ErrorCode::kResourceExhausted, "the states are larger than the address space");
  }
  auto arena = AlignedBuffer::Create(*bytes);
  if (!arena.ok()) return std::move(arena).status().WithContext("recurrent states");
  return StateStore(shape, *std::move(arena));
}

float* StateStore::Slot(StateId id) {
  CHECK(id >= 0 && id < shape_.slots);
  return reinterpret_cast<float*>(arena_.data() + id * slot_bytes());
}

bool StateStore::CommitNext(int64_t slots) {
  const int64_t left = std::min(slots, shape_.slots) * slot_bytes() - committed_bytes_;
  if (left <= 0) return false;
  const int64_t piece = std::min(left, kHugePageBytes);
  arena_.Commit(static_cast<uint64_t>(committed_bytes_), static_cast<uint64_t>(piece));
  committed_bytes_ += piece;
  return true;
}

void StateStore::Copy(const StateCopy& copy) {
  CHECK(copy.from != copy.to);
  CHECK(std::max(copy.from, copy.to) < shape_.slots && std::min(copy.from, copy.to) >= 0);
  if (shape_.floats > 0) copies_.push_back(copy);
}

// In their order: a slot that is read by one may be written by the next. Floats of different places
// have nothing to do with each other, so parts may be made in any order.
void StateStore::MakeCopies(int64_t first, int64_t count) {
  CHECK(first >= 0 && count >= 0 && count <= shape_.floats - first);
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  for (const StateCopy& copy : copies_) {
    std::memcpy(Slot(copy.to) + first, Slot(copy.from) + first, bytes);
  }
}

// Those of other slots, too: they may stand in between.
void StateStore::SettleCopiesOf(StateId id) {
  const auto is_of = [id](const StateCopy& copy) { return copy.from == id || copy.to == id; };
  if (std::none_of(copies_.begin(), copies_.end(), is_of)) return;
  MakeCopies(0, shape_.floats);
  ForgetCopies();
}

std::byte* StateStore::Bytes(StateId id, int64_t begin, size_t count) {
  CHECK(begin >= 0 && static_cast<int64_t>(count) <= slot_bytes() - begin);
  return reinterpret_cast<std::byte*>(Slot(id)) + begin;
}

void StateStore::Save(StateId id, int64_t begin, std::span<std::byte> bytes) {
  SettleCopiesOf(id);
  std::memcpy(bytes.data(), Bytes(id, begin, bytes.size()), bytes.size());
}

void StateStore::Load(StateId id, int64_t begin, std::span<const std::byte> bytes) {
  SettleCopiesOf(id);
  std::memcpy(Bytes(id, begin, bytes.size()), bytes.data(), bytes.size());
}

void StateStore::Poison(StateId id) {
  if (shape_.floats == 0) return;  // of a network without states a slot is no memory
  SettleCopiesOf(id);
  // All bits set is a NaN.
  std::memset(Slot(id), 0xff, static_cast<size_t>(slot_bytes()));
}

}  // namespace skald::kv
