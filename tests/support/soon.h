/// Soon: what another thread does in its own time.
#pragma once

#include <chrono>
#include <thread>

namespace skald {

/// Waits until `condition` holds, a minute at most: the machine may be busy with something else.
template <typename Condition>
bool Soon(Condition condition) {
  for (int i = 0; i < 12'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace skald
