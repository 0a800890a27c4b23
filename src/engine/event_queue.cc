#include <utility>

#include "base/check.h"
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
    case EventKind::kResumed: return "resumed";
    case EventKind::kSequenceFinished: return "sequence finished";
    case EventKind::kFinished: return "finished";
  }
  return "unknown";
}

EventQueue::EventQueue(int64_t capacity) : ring_(static_cast<size_t>(capacity)) {}

Listening EventQueue::Push(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Listening::kGone;
  CHECK(count_ < ring_.size());
  ring_[(first_ + count_) % ring_.size()] = event;
  ++count_;
  filled_.notify_one();
  return Listening::kGoOn;
}

bool EventQueue::HasRoom(int64_t events) const {
  const std::lock_guard lock(mutex_);
  return closed_ || static_cast<int64_t>(ring_.size() - count_) >= events;
}

Event EventQueue::Take() {
  Event event = std::move(ring_[first_]);
  first_ = (first_ + 1) % ring_.size();
  --count_;
  return event;
}

Event EventQueue::Next() {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [&] { return count_ > 0; });
  return Take();
}

std::optional<Event> EventQueue::TryNext() {
  const std::lock_guard lock(mutex_);
  if (count_ == 0) return std::nullopt;
  return Take();
}

void EventQueue::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace skald
