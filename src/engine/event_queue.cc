#include <array>
#include <variant>

#include "engine/bounded_queue.h"
#include "skald/request.h"

namespace skald {

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kContext: return "context";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kDeadline: return "deadline";
    case FinishReason::kError: return "error";
  }
  return "unknown";
}

std::string_view EventName(const Event& event) {
  // In the order of the variant.
  constexpr std::array<std::string_view, std::variant_size_v<decltype(Event::what)>> kNames = {
      "queued",    "admitted",  "chunk",   "prompt logprobs",   "token",
      "embedding", "preempted", "resumed", "sequence finished", "finished"};
  return kNames[event.what.index()];
}

struct EventQueue::State {
  explicit State(int64_t capacity) : queue(capacity) {}
  engine::BoundedQueue<Event> queue;
};

EventQueue::EventQueue(int64_t capacity) : state_(std::make_unique<State>(capacity)) {}
EventQueue::~EventQueue() = default;

Listening EventQueue::Push(const Event& event) {
  const auto pushed = state_->queue.Push([&](Event* slot) { *slot = event; });
  return pushed == engine::Pushed::kClosed ? Listening::kGone : Listening::kGoOn;
}

bool EventQueue::HasRoom(int64_t events) const { return state_->queue.HasRoom(events); }
Event EventQueue::Next() { return state_->queue.Next(); }
std::optional<Event> EventQueue::TryNext() { return state_->queue.TryNext(); }
void EventQueue::Close() { state_->queue.Close(); }

}  // namespace skald
