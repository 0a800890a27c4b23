#include "server/watchdog.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/soon.h"

namespace skald::server {
namespace {

TEST(Watchdog, NoticesStillness) {
  std::atomic<int> dead = 0;
  Watchdog dog(0.5, [&] { ++dead; });
  dog.Beat();
  EXPECT_TRUE(Soon([&] { return dead > 0; }));
}

TEST(Watchdog, LetsRest) {
  std::atomic<int> dead = 0;
  Watchdog dog(0.5, [&] { ++dead; });
  dog.Beat();
  dog.Rest();
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  EXPECT_EQ(dead, 0);
}

}  // namespace
}  // namespace skald::server
