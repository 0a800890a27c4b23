/// Budget: what one rendering has used of its limits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "chat/limits.h"
#include "skald/status.h"
#include "skald/stop_check.h"

namespace skald::chat {

/// Counts steps and bytes. Once a limit is passed it stays passed, and nothing is spent or held any
/// more: whoever works in a loop ends it, and the evaluator ends the rendering at its next look. So
/// it does when the caller wants it to stop. Who handles something of length n spends steps in
/// proportion to n, before or while it works; who keeps something holds its bytes (cost_test.cc
/// compares both with what is measured).
/// Not thread-safe; one per rendering, and it outlives every value of the rendering.
class Budget {
 public:
  /// With the limits of limits.h, unless `stop` ends it before.
  explicit Budget(StopCheck stop = {}) : Budget(kMaxSteps, kMaxValueBytes, stop) {}
  /// With limits of its own, for tests.
  Budget(int64_t steps, int64_t bytes, StopCheck stop = {})
      : step_limit_(steps),
        byte_limit_(bytes),
        stop_(stop),
        at_hand_(std::min(steps, kStepsPerLook)),
        later_(steps - at_hand_),
        bytes_left_(bytes) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// Uses `count` steps. False if that is more than were left.
  bool Spend(int64_t count) {
    if (count > at_hand_) return SpendMore(count);
    at_hand_ -= count;
    return true;
  }
  /// The steps of copying, comparing or searching `bytes` bytes of text.
  bool Scan(size_t bytes) { return Spend(static_cast<int64_t>(bytes / kScannedPerStep)); }
  /// The steps of looking at each character of `bytes` bytes of text.
  bool Read(size_t bytes) { return Spend(static_cast<int64_t>(bytes / kReadPerStep)); }

  /// Takes memory for `bytes` bytes. False if there is not so much left.
  bool Hold(int64_t bytes) {
    if (bytes > bytes_left_) End(Limit::kMemory);
    if (exhausted()) return false;
    bytes_left_ -= bytes;
    return true;
  }
  /// Gives memory back.
  void Return(int64_t bytes) { bytes_left_ += bytes; }
  /// Holds memory for `bytes` bytes of text, and spends the steps of making them.
  bool Take(int64_t bytes) { return Spend(bytes / kScannedPerStep + 1) && Hold(bytes); }

  /// OK; kResourceExhausted with the limit that was passed; kCancelled.
  Status status() const {
    if (!exhausted()) return Ok();
    if (passed_ == Limit::kStopped)
      return Status(ErrorCode::kCancelled, "the rendering was stopped before its end");
    const std::string limit = passed_ == Limit::kMemory
                                  ? std::to_string(byte_limit_) + " bytes of memory"
                                  : std::to_string(step_limit_) + " steps";
    return Status(ErrorCode::kResourceExhausted,
                  "the template takes more than " + limit + " to render this");
  }
  bool exhausted() const { return at_hand_ < 0; }
  /// Steps used so far; all of them once a limit was passed.
  int64_t steps_used() const { return exhausted() ? step_limit_ : step_limit_ - at_hand_ - later_; }

 private:
  enum class Limit : uint8_t { kSteps, kMemory, kStopped };

  // What takes as long as evaluating a node.
  static constexpr size_t kScannedPerStep = 128;
  static constexpr size_t kReadPerStep = 32;
  // A step takes 75 to 500 ns, a look at a clock as long: it is asked each 150 us to 1 ms.
  static constexpr int64_t kStepsPerLook = 2048;

  // What is at hand is too little: there may be more.
  bool SpendMore(int64_t count);
  // The first reason is the one that is told. False, always.
  bool End(Limit limit) {
    if (!exhausted()) passed_ = limit;
    at_hand_ = -1;
    return false;
  }

  const int64_t step_limit_;
  const int64_t byte_limit_;
  const StopCheck stop_;
  int64_t at_hand_;  // steps until it is asked whether to stop; -1: a limit was passed
  int64_t later_;    // further steps
  int64_t bytes_left_;
  Limit passed_ = Limit::kSteps;
};

/// A vector of a builtin's own: each item costs a step, and their memory counts for as long as the
/// vector lives. Beyond the limit nothing is added.
template <typename T>
class Counted {
 public:
  explicit Counted(Budget& budget) : budget_(&budget) {}
  /// Takes over items that were copied.
  Counted(Budget& budget, std::vector<T> items) : budget_(&budget) {
    constexpr int64_t kCopiedPerStep = 4;
    const auto count = static_cast<int64_t>(items.size());
    if (!budget.Spend(count / kCopiedPerStep) || !Hold(count)) return;
    items_ = std::move(items);
  }
  Counted(Counted&& other) noexcept
      : budget_(other.budget_), items_(std::move(other.items_)), held_(other.held_) {
    other.held_ = 0;
  }
  Counted& operator=(Counted&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(items_, other.items_);
    std::swap(held_, other.held_);
    return *this;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { budget_->Return(held_); }

  /// False if the budget is passed; then `item` was not added.
  bool Add(T item) {
    constexpr int64_t kGrowth = 2;  // a vector may have room for twice what it holds
    if (!budget_->Spend(1) || !Hold(kGrowth)) return false;
    items_.push_back(std::move(item));
    return true;
  }
  /// The items, no longer counted.
  std::vector<T> Release() && { return std::move(items_); }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  T& operator[](size_t i) { return items_[i]; }
  const T& operator[](size_t i) const { return items_[i]; }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  /// Only to take items away or put them in another order.
  std::vector<T>& items() { return items_; }

 private:
  bool Hold(int64_t count) {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    if (!budget_->Hold(bytes)) return false;
    held_ += bytes;
    return true;
  }

  Budget* budget_;
  std::vector<T> items_;
  int64_t held_ = 0;
};

/// One level of recursion, for as long as the object lives.
class Level {
 public:
  explicit Level(int* depth) : depth_(depth) { ++*depth_; }
  ~Level() { --*depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int* depth_;
};

}  // namespace skald::chat
