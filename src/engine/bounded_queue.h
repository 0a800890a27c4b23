/// BoundedQueue: values from one writer to one reader, in memory taken at construction.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace skald::engine {

/// What became of a value.
enum class Pushed : uint8_t {
  kFirst,   ///< it is the only one in the queue: the reader may be waiting for it
  kBehind,  ///< others are before it
  kClosed,  ///< dropped: nobody reads any more
};

/// Thread-safe. A slot keeps the memory of what it held, so that values with vectors inside cost
/// no allocation once the queue has gone round.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(int64_t capacity) : ring_(static_cast<size_t>(capacity)) {}

  /// `fill(T*)` overwrites an old value. Requires room, unless closed.
  template <typename Fill>
  Pushed Push(Fill&& fill) {
    const std::lock_guard lock(mutex_);
    if (closed_) return Pushed::kClosed;
    CHECK(count_ < ring_.size());
    fill(&ring_[(first_ + count_) % ring_.size()]);
    filled_.notify_one();
    return ++count_ == 1 ? Pushed::kFirst : Pushed::kBehind;
  }

  /// True if `values` more can be taken, or are dropped.
  bool HasRoom(int64_t values) const {
    const std::lock_guard lock(mutex_);
    return closed_ || static_cast<int64_t>(ring_.size() - count_) >= values;
  }

  /// The oldest value; waits for one.
  T Next() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return count_ > 0; });
    return Take();
  }

  /// The oldest value, if there is one.
  std::optional<T> TryNext() {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return std::nullopt;
    return Take();
  }

  /// From now on what is pushed is dropped.
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

 private:
  // A copy: the slot keeps its memory.
  T Take() {
    const T& value = ring_[first_];
    first_ = (first_ + 1) % ring_.size();
    --count_;
    return value;
  }

  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<T> ring_;
  size_t first_ = 0;
  size_t count_ = 0;
  bool closed_ = false;
};

}  // namespace skald::engine
