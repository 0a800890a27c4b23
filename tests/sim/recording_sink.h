/// RecordingSink: keeps every event of a request, and reads as slowly as it is told.
#pragma once

#include <algorithm>
#include <map>
#include <variant>
#include <vector>

#include "sim/fault.h"
#include "sim/workload.h"
#include "skald/request.h"

namespace skald::sim {

class RecordingSink : public EventSink {
 public:
  RecordingSink(const Reader& reader, Fault fault) : reader_(reader), fault_(fault) {}

  Listening Push(const Event& event) override {
    events_.push_back(event);
    if (auto* ended = std::get_if<SequenceFinishedEvent>(&events_.back().what)) {
      if (event.sequence == 0) best_score_ = ended->score;
      if (fault_ == Fault::kScoreOfOtherBeam) ended->score = best_score_;
    }
    ++unread_;
    overrun_ = overrun_ || unread_ > reader_.capacity;
    const auto count = static_cast<int64_t>(events_.size());
    if (reader_.gone_at_event >= 0 && count > reader_.gone_at_event) return Listening::kGone;
    if (!event.Is<TokenEvent>() || !Stops(event)) return Listening::kGoOn;
    return fault_ == Fault::kStopEndsSiblings ? Listening::kGone : Listening::kEndSequence;
  }
  bool HasRoom(int64_t events) const override { return reader_.capacity - unread_ >= events; }

  /// Time goes on: perhaps the reader reads.
  void Tick(int64_t tick) {
    if (reader_.reads_one_in > 0 && tick % reader_.reads_one_in == 0) {
      unread_ = std::max<int64_t>(0, unread_ - reader_.reads_events);
    }
  }
  const std::vector<Event>& events() const { return events_; }
  bool finished() const { return !events_.empty() && events_.back().Is<FinishedEvent>(); }
  /// True if it was ever given more than it had room for.
  bool overrun() const { return overrun_; }

 private:
  // True if the last tokens of the sequence are those of Reader::stop.
  bool Stops(const Event& event) {
    std::vector<TokenId>& tokens = tokens_[event.sequence];
    const bool stopped_before = EndsWithStop(tokens);
    tokens.push_back(event.As<TokenEvent>()->token);
    return fault_ == Fault::kStopStringLate ? stopped_before : EndsWithStop(tokens);
  }

  bool EndsWithStop(const std::vector<TokenId>& tokens) const {
    return !reader_.stop.empty() && tokens.size() >= reader_.stop.size() &&
           std::equal(reader_.stop.rbegin(), reader_.stop.rend(), tokens.rbegin());
  }

  Reader reader_;
  Fault fault_;
  std::vector<Event> events_;
  std::map<int32_t, std::vector<TokenId>> tokens_;  // by sequence
  double best_score_ = 0;
  int64_t unread_ = 0;
  bool overrun_ = false;
};

}  // namespace skald::sim
