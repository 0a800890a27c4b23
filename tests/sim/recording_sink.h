/// RecordingSink: keeps every event of a request, and reads as slowly as it is told.
#pragma once

#include <vector>

#include "sim/workload.h"
#include "skald/request.h"

namespace skald::sim {

class RecordingSink : public EventSink {
 public:
  explicit RecordingSink(const Reader& reader) : reader_(reader) {}

  Listening Push(const Event& event) override {
    events_.push_back(event);
    ++unread_;
    overrun_ = overrun_ || unread_ > reader_.capacity;
    const auto count = static_cast<int64_t>(events_.size());
    const bool gone = reader_.gone_at_event >= 0 && count > reader_.gone_at_event;
    return gone ? Listening::kGone : Listening::kGoOn;
  }
  bool HasRoom(int64_t events) const override { return reader_.capacity - unread_ >= events; }

  /// Time goes on: perhaps the reader reads.
  void Tick(int64_t tick) {
    if (reader_.reads_one_in > 0 && tick % reader_.reads_one_in == 0) unread_ = 0;
  }
  const std::vector<Event>& events() const { return events_; }
  bool finished() const { return !events_.empty() && events_.back().kind == EventKind::kFinished; }
  /// True if it was ever given more than it had room for.
  bool overrun() const { return overrun_; }

 private:
  Reader reader_;
  std::vector<Event> events_;
  int64_t unread_ = 0;
  bool overrun_ = false;
};

}  // namespace skald::sim
