#include "base/spread.h"

#include <sched.h>

#include <cstddef>

namespace skald {

Spread::Spread(int threads) : places_(static_cast<size_t>(threads)) {}

void Spread::Check(int index) {
  Place& own = places_[static_cast<size_t>(index)];
  const int processor = sched_getcpu();
  if (own.processor.load(std::memory_order_relaxed) == processor) return;
  own.processor.store(processor, std::memory_order_relaxed);
  // Of two that came together the one that was moved sees it, the later one if both were.
  if (IsShared(index, processor)) Move(&own);
}

bool Spread::IsShared(int index, int processor) const {
  for (size_t other = 0; other < places_.size(); ++other) {
    const bool is_other = other != static_cast<size_t>(index);
    if (is_other && places_[other].processor.load(std::memory_order_relaxed) == processor)
      return true;
  }
  return false;
}

// A system that refuses leaves the thread where it is: nothing but times depends on it.
void Spread::Move(Place* own) const {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t free = allowed;
  for (const Place& place : places_) {
    const int processor = place.processor.load(std::memory_order_relaxed);
    if (processor >= 0) CPU_CLR(static_cast<size_t>(processor), &free);
  }
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof(free), &free) != 0) return;
  // Said before the system is free again, so that who looks for a processor meanwhile passes it by.
  own->processor.store(sched_getcpu(), std::memory_order_relaxed);
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

}  // namespace skald
