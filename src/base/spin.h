/// Pause: what a thread does that waits for another one for a moment.
#pragma once

namespace skald {

/// About 30 us on current machines: longer than the gap between two loops of a step, far shorter
/// than a scheduler slice. Who has waited so often without success sleeps.
inline constexpr int kSpinRounds = 2000;

/// Leaves the core to its other thread for some ten nanoseconds.
inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace skald
