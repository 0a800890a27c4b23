#include "engine/state_places.h"

#include <algorithm>

namespace skald::engine {

void StatePlaces::Ask(int64_t tokens, int64_t computed) {
  if (asked_at <= computed || tokens < asked_at) asked_at = tokens;
}

int64_t NextPlace(const StatePlaces& places, int64_t computed, const PromptPlaces& prompt,
                  int64_t halvings) {
  int64_t next = 0;
  const auto consider = [&](int64_t place, int64_t least) {
    if (place <= computed || place - places.last < least) return;
    if (next == 0 || place < next) next = place;
  };
  consider(places.asked_at, kLeastAsked);
  consider(places.parts_at, kLeastAsked);
  for (const int64_t place : prompt.marked) consider(place, kLeastAsked);
  const int64_t last = prompt.tokens - 1;
  consider(last, kLeastGuessed);
  for (int64_t left = last - places.began; left >= kLeastHalved && halvings > 0; --halvings) {
    left /= 2;
    consider(last - left, kLeastGuessed);
  }
  return next;
}

}  // namespace skald::engine
