/// Futex: sleeping until a number changes, for threads of one process or of several that share its
/// memory. std::atomic::wait does neither: it knows one process only, and yields before it sleeps.
#pragma once

#include <atomic>
#include <cstdint>

namespace skald {

/// Sleeps while `word` is `value`, a second at most: nothing is lost if a wake-up ever is. It may
/// return sooner, so the caller looks again.
void FutexSleep(const std::atomic<uint32_t>& word, uint32_t value);

/// Wakes all that sleep on `word`. A system call, whether anybody does or not.
void FutexWakeAll(const std::atomic<uint32_t>& word);

}  // namespace skald
