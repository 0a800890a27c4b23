/// WaitingWatch: counts the steps that prompts wait, and knows how long they may (the bounds of
/// docs/scheduling.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "engine/core.h"

namespace skald::sim {

class WaitingWatch {
 public:
  explicit WaitingWatch(const engine::CoreLimits& limits) : limits_(limits) {}

  /// Before a step of the core.
  void Begin(const engine::Core& core);
  /// After one that has computed something: empty, or who has waited too long.
  std::string End(const engine::Core& core);

 private:
  // A sequence, by request and index.
  using Name = std::pair<uint64_t, int32_t>;
  struct Wait {
    int64_t steps = 0;
    int64_t most = 0;  // that it may wait, known when it began to
    bool seen = false;
  };

  std::string Count(const Name& name, int64_t most, const char* what);

  const engine::CoreLimits limits_;
  std::map<Name, int64_t> computed_;  // of running prompts, before the step
  std::map<Name, Wait> waits_;
};

}  // namespace skald::sim
