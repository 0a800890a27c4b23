#include "base/awaited_number.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace skald {
namespace {

TEST(AwaitedNumber, IsSeenByWhoeverIsAwakeAndWhoeverSleeps) {
  constexpr uint32_t kTurns = 2000;
  AwaitedNumber number;
  // Two threads count in turn; now and then one is so late that the other sleeps.
  const auto count = [&](uint32_t parity) {
    for (uint32_t turn = parity; turn < kTurns; turn += 2) {
      for (uint32_t now = number.Get(); now != turn;) now = number.AwaitOther(now);
      if (turn % 100 == parity) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(number.Add(1), turn + 1);
      number.Wake();
    }
  };
  std::thread even(count, 0);
  std::thread odd(count, 1);
  even.join();
  odd.join();
  EXPECT_EQ(number.Get(), kTurns);
}

TEST(AwaitedNumber, GoesRoundBelowZero) {
  AwaitedNumber number(1);
  EXPECT_EQ(number.Add(~uint32_t{0}), 0u);
  EXPECT_EQ(number.Add(~uint32_t{0}), ~uint32_t{0});
  EXPECT_EQ(number.AwaitOther(0), ~uint32_t{0});
}

}  // namespace
}  // namespace skald
