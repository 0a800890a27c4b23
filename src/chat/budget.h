/// Budget: what one rendering has used of its limits.
#pragma once

#include <cstdint>
#include <string>

#include "chat/limits.h"
#include "skald/status.h"

namespace skald::chat {

/// Counts steps, bytes and depth. Once a limit is passed it stays passed: whoever builds something
/// large stops adding, and the evaluator ends the rendering at its next look. Not thread-safe; one
/// per rendering, and it outlives every value of the rendering.
class Budget {
 public:
  /// Uses `count` steps. False if that is more than were left.
  bool Spend(int64_t count) {
    if (count > steps_left_) steps_left_ = -1;
    if (steps_left_ < 0) return false;
    steps_left_ -= count;
    return true;
  }

  /// Takes memory for `bytes` bytes, and the steps that handling them costs. False if there is not
  /// so much left.
  bool Take(int64_t bytes) {
    constexpr int64_t kBytesPerStep = 64;
    if (bytes > bytes_left_) out_of_memory_ = true;
    if (out_of_memory_ || !Spend(bytes / kBytesPerStep + 1)) return false;
    bytes_left_ -= bytes;
    return true;
  }
  /// Gives memory back.
  void Return(int64_t bytes) { bytes_left_ += bytes; }

  /// OK, or kResourceExhausted with the limit that was passed.
  Status status() const {
    if (out_of_memory_) {
      return Status(ErrorCode::kResourceExhausted, "the template takes more than " +
                                                       std::to_string(kMaxValueBytes) +
                                                       " bytes of memory to render this");
    }
    if (steps_left_ < 0) {
      return Status(
          ErrorCode::kResourceExhausted,
          "the template takes more than " + std::to_string(kMaxSteps) + " steps to render this");
    }
    return Ok();
  }
  bool exhausted() const { return out_of_memory_ || steps_left_ < 0; }

 private:
  int64_t steps_left_ = kMaxSteps;
  int64_t bytes_left_ = kMaxValueBytes;
  bool out_of_memory_ = false;
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
