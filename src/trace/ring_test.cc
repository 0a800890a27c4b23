#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "skald/trace.h"

namespace skald {
namespace {

TraceEvent Step(int64_t number) {
  return {.seconds = static_cast<double>(number), .body = TraceStep{.step = number}};
}

int64_t NumberOf(const TraceEvent& event) { return std::get<TraceStep>(event.body).step; }

TEST(TraceRing, GivesEventsInTheirOrderAndOnce) {
  TraceRing ring({.capacity = 4});
  std::vector<TraceEvent> events;
  for (int64_t round = 0; round < 5; ++round) {
    for (int64_t i = 0; i < 3; ++i) ring.Append(Step(3 * round + i));
    ring.Take(&events);
  }
  ring.Take(&events);
  ASSERT_EQ(events.size(), 15u);
  for (int64_t i = 0; i < 15; ++i) EXPECT_EQ(NumberOf(events[static_cast<size_t>(i)]), i);
  EXPECT_EQ(ring.lost_count(), 0);
}

// A run never waits for its record, and the record says where it has a hole.
TEST(TraceRing, SaysWhereEventsAreLost) {
  TraceRing ring({.capacity = 4});
  for (int64_t i = 0; i < 7; ++i) ring.Append(Step(i));
  EXPECT_EQ(ring.lost_count(), 3);
  std::vector<TraceEvent> events;
  ring.Take(&events);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(NumberOf(events.back()), 3);
  ring.Append(Step(7));
  ring.Append(Step(8));
  events.clear();
  ring.Take(&events);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(std::get<TraceLost>(events[0].body).count, 3);
  EXPECT_EQ(NumberOf(events[1]), 7);
  EXPECT_EQ(NumberOf(events[2]), 8);
}

// One place is not enough for an event and for the word about those before it.
TEST(TraceRing, OfTwoPlacesTheLastIsNotTakenForAHalf) {
  TraceRing ring({.capacity = 2});
  std::vector<TraceEvent> events;
  for (int64_t i = 0; i < 3; ++i) ring.Append(Step(i));
  ring.Take(&events);
  ring.Append(Step(3));
  ring.Append(Step(4));
  ring.Take(&events);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(std::get<TraceLost>(events[2].body).count, 1);
  EXPECT_EQ(NumberOf(events[3]), 3);
  EXPECT_EQ(ring.lost_count(), 2);
}

// What one thread appends and another takes: each event or its loss, in order.
TEST(TraceRing, LosesNothingSilentlyBetweenTwoThreads) {
  constexpr int64_t kEvents = 20000;
  TraceRing ring({.capacity = 64});
  std::atomic<bool> done = false;
  std::vector<TraceEvent> events;
  std::thread reader([&] {
    while (!done) ring.Take(&events);
    ring.Take(&events);
  });
  for (int64_t i = 0; i < kEvents; ++i) ring.Append(Step(i));
  done = true;
  reader.join();
  int64_t next = 0;
  for (const TraceEvent& event : events) {
    if (const auto* lost = std::get_if<TraceLost>(&event.body)) {
      next += lost->count;
    } else {
      ASSERT_EQ(NumberOf(event), next++);
    }
  }
  EXPECT_LE(next, kEvents);
  EXPECT_GE(next + ring.lost_count(), kEvents);
}

}  // namespace
}  // namespace skald
