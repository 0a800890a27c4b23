#include <string>
#include <utility>

#include "base/utf8.h"
#include "skald/tokenizer.h"
#include "text/byte_automaton.h"

namespace skald {

StopMatcher::StopMatcher(std::unique_ptr<const text::ByteAutomaton> automaton)
    : automaton_(std::move(automaton)) {}
StopMatcher::~StopMatcher() = default;
StopMatcher::StopMatcher(StopMatcher&& other) noexcept = default;
StopMatcher& StopMatcher::operator=(StopMatcher&& other) noexcept = default;

Result<StopMatcher> StopMatcher::Create(std::span<const std::string> stops) {
  if (stops.size() > kMaxStops) {
    return Status(ErrorCode::kInvalidArgument, "too many stop strings: at most " +
                                                   std::to_string(kMaxStops) + ", found " +
                                                   std::to_string(stops.size()));
  }
  for (size_t i = 0; i < stops.size(); ++i) {
    const std::string name = "stop string " + std::to_string(i);
    if (stops[i].empty()) {
      return Status(ErrorCode::kInvalidArgument, name + " is empty: it would stop everything");
    }
    if (stops[i].size() > kMaxStopBytes) {
      return Status(ErrorCode::kInvalidArgument,
                    name + " is too long: at most " + std::to_string(kMaxStopBytes) +
                        " bytes, found " + std::to_string(stops[i].size()));
    }
    if (WellFormedPrefix(stops[i]) != stops[i].size()) {
      return Status(ErrorCode::kInvalidArgument, name + " is not valid UTF-8");
    }
  }
  const std::vector<std::string_view> patterns(stops.begin(), stops.end());
  return StopMatcher(std::make_unique<const text::ByteAutomaton>(patterns));
}

StopMatcher::Output StopMatcher::Push(std::string_view piece) {
  if (stop_index_ >= 0) return {.text = "", .stop_index = stop_index_};
  std::string text = std::move(held_);
  text.reserve(text.size() + piece.size());
  for (const char c : piece) {
    text.push_back(c);
    state_ = automaton_->Step(state_, static_cast<uint8_t>(c));
    stop_index_ = automaton_->Match(state_);
    if (stop_index_ >= 0) break;
  }
  // A stop string that was found is dropped; the beginning of one is kept.
  const int32_t tail =
      stop_index_ >= 0 ? automaton_->PatternLength(stop_index_) : automaton_->Depth(state_);
  const size_t passed = text.size() - static_cast<size_t>(tail);
  held_ = stop_index_ >= 0 ? std::string() : text.substr(passed);
  text.resize(passed);
  return {.text = std::move(text), .stop_index = stop_index_};
}

std::string StopMatcher::Flush() {
  std::string text = std::move(held_);
  held_.clear();
  state_ = text::ByteAutomaton::kRoot;
  return text;
}

void StopMatcher::Reset() {
  held_.clear();
  state_ = text::ByteAutomaton::kRoot;
  stop_index_ = -1;
}

}  // namespace skald
