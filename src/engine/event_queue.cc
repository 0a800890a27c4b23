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

std::string_view EventKindName(EventKind kind) {
  switch (kind) {
    case EventKind::kQueued: return "queued";
    case EventKind::kAdmitted: return "admitted";
    case EventKind::kChunk: return "chunk";
    case EventKind::kToken: return "token";
    case EventKind::kPreempted: return "preempted";
    case EventKind::kEmbedding: return "embedding";
    case EventKind::kResumed: return "resumed";
    case EventKind::kSequenceFinished: return "sequence finished";
    case EventKind::kFinished: return "finished";
  }
  return "unknown";
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
