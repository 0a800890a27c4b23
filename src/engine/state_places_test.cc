#include "engine/state_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace skald::engine {
namespace {

// All places of a prompt, one after the other.
std::vector<int64_t> PlacesOf(StatePlaces places, int64_t tokens, int64_t halvings,
                              std::vector<int64_t> marked = {}) {
  std::vector<int64_t> all;
  const PromptPlaces prompt = {.tokens = tokens, .marked = marked};
  while (const int64_t next =
             NextPlace(places, all.empty() ? places.began : all.back(), prompt, halvings)) {
    all.push_back(next);
    places.last = next;
  }
  return all;
}

using Places = std::vector<int64_t>;

TEST(StatePlaces, BeforeTheLastTokenOfAPrompt) {
  EXPECT_EQ(PlacesOf({}, 200, 9), Places{199});
  EXPECT_EQ(PlacesOf({}, 65, 9), Places{64});
  EXPECT_EQ(PlacesOf({}, 64, 9), Places{}) << "a step more would cost more than it saves";
  EXPECT_EQ(PlacesOf({.began = 150, .last = 150}, 200, 9), Places{});
  EXPECT_EQ(PlacesOf({.began = 100, .last = 100}, 200, 9), Places{199});
}

TEST(StatePlaces, WhereARunIsLeft) {
  EXPECT_EQ(PlacesOf({.parts_at = 100}, 300, 0), (Places{100, 299}));
  EXPECT_EQ(PlacesOf({.began = 69, .last = 69, .parts_at = 100}, 300, 0), Places{299});
  EXPECT_EQ(PlacesOf({.began = 68, .last = 68, .parts_at = 100}, 300, 0), (Places{100, 299}));
}

TEST(StatePlaces, WhereSomebodyWaits) {
  StatePlaces places;
  places.Ask(90, 10);
  places.Ask(70, 10);
  places.Ask(80, 10);
  EXPECT_EQ(NextPlace(places, 10, {.tokens = 100}, 0), 70);
  places.Ask(80, 70);
  EXPECT_EQ(NextPlace(places, 70, {.tokens = 100}, 0), 80);
}

TEST(StatePlaces, WhereTheClientSays) {
  EXPECT_EQ(PlacesOf({}, 300, 0, {40, 100}), (Places{40, 100, 299}));
  EXPECT_EQ(PlacesOf({.began = 50, .last = 50}, 300, 0, {40, 81, 100}), (Places{100, 299}))
      << "no nearer than what somebody waits for";
}

TEST(StatePlaces, HalvesOfWhatIsLeft) {
  EXPECT_EQ(PlacesOf({}, 8193, 9), (Places{4096, 6144, 7168, 7680, 7936, 8192}));
  EXPECT_EQ(PlacesOf({}, 8193, 2), (Places{4096, 6144, 8192}));
  EXPECT_EQ(PlacesOf({}, 8193, 0), Places{8192});
  EXPECT_EQ(PlacesOf({.began = 4096, .last = 4096}, 8193, 1), (Places{6144, 8192}));
  EXPECT_EQ(PlacesOf({}, 512, 9), Places{511});
}

}  // namespace
}  // namespace skald::engine
