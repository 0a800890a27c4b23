#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "skald/trace.h"

namespace skald {

// The classic queue of one producer and one consumer (Lamport 1983): each index has one writer, so
// that a release of it and an acquire by the other side are all it takes. They only grow; the slot
// is the rest. On lines of their own: each side writes its own index all the time.
struct TraceRing::State {
  State(size_t capacity, bool probabilities)
      : model_probabilities(probabilities), slots(capacity) {}

  const bool model_probabilities;
  std::vector<TraceEvent> slots;
  alignas(64) std::atomic<uint64_t> begin = 0;  // of the consumer: the oldest event
  alignas(64) std::atomic<uint64_t> end = 0;    // of the producer: where the next goes
  int64_t unsaid = 0;                           // of the producer: lost since the last TraceLost
  std::atomic<int64_t> lost = 0;
};

TraceRing::TraceRing(const TraceOptions& options)
    : state_(std::make_unique<State>(static_cast<size_t>(options.capacity),
                                     options.model_probabilities)) {
  CHECK(options.capacity >= 2);
}

TraceRing::~TraceRing() = default;

bool TraceRing::model_probabilities() const { return state_->model_probabilities; }

void TraceRing::Append(const TraceEvent& event) {
  State& s = *state_;
  const uint64_t end = s.end.load(std::memory_order_relaxed);
  const uint64_t room = s.slots.size() - (end - s.begin.load(std::memory_order_acquire));
  const uint64_t wanted = s.unsaid > 0 ? 2 : 1;
  if (room < wanted) {
    ++s.unsaid;
    s.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (s.unsaid > 0) {
    s.slots[end % s.slots.size()] = {.seconds = event.seconds, .body = TraceLost{s.unsaid}};
    s.unsaid = 0;
  }
  s.slots[(end + wanted - 1) % s.slots.size()] = event;
  s.end.store(end + wanted, std::memory_order_release);
}

void TraceRing::Take(std::vector<TraceEvent>* events) {
  State& s = *state_;
  const uint64_t end = s.end.load(std::memory_order_acquire);
  uint64_t begin = s.begin.load(std::memory_order_relaxed);
  for (; begin != end; ++begin) events->push_back(s.slots[begin % s.slots.size()]);
  s.begin.store(begin, std::memory_order_release);
}

int64_t TraceRing::lost_count() const { return state_->lost.load(std::memory_order_relaxed); }

TraceName::TraceName(std::string_view name) {
  std::copy_n(name.begin(), std::min(name.size(), text.size()), text.begin());
}

std::string_view TraceName::view() const {
  return {text.data(),
          static_cast<size_t>(std::find(text.begin(), text.end(), '\0') - text.begin())};
}

}  // namespace skald
