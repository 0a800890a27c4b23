#include "engine/view_board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace skald::engine {
namespace {

std::unique_ptr<EngineView> At(double seconds) {
  auto view = std::make_unique<EngineView>();
  view->seconds = seconds;
  return view;
}

TEST(ViewBoard, IsDueOnlyWhereSomebodyLooks) {
  ViewBoard board;
  EXPECT_FALSE(board.IsDue(0, 0));
  EXPECT_FALSE(board.IsDue(0, 100));
  EXPECT_EQ(board.Look(5), nullptr);
  EXPECT_TRUE(board.IsDue(5, 0));
  EXPECT_TRUE(board.IsDue(5.9, 0));
  EXPECT_FALSE(board.IsDue(6.1, 0)) << "gone";
  EXPECT_FALSE(board.IsDue(6.1, 100));
}

TEST(ViewBoard, IsDueTenTimesASecondAndNotTwiceForOneLook) {
  ViewBoard board;
  board.Look(1);
  board.Post(At(1.01), 0);
  EXPECT_FALSE(board.IsDue(1.2, 0)) << "nobody has looked since";
  ASSERT_NE(board.Look(1.05), nullptr);
  EXPECT_FALSE(board.IsDue(1.1, 0));
  EXPECT_TRUE(board.IsDue(1.12, 0));
}

// A short step shown last would be all there is to see while a long one lasts.
TEST(ViewBoard, ALongStepIsShownWhateverWasShownBefore) {
  ViewBoard board;
  board.Look(1);
  board.Post(At(1.01), 0);
  EXPECT_FALSE(board.IsDue(1.02, ViewBoard::kLongStep / 2));
  EXPECT_TRUE(board.IsDue(1.02, ViewBoard::kLongStep));
}

TEST(ViewBoard, ViewsThatCostMoreAreTakenLessOften) {
  ViewBoard board;
  board.Look(1);
  board.Post(At(1.01), 0.01);  // of which 200 are two seconds
  board.Look(1.5);
  EXPECT_FALSE(board.IsDue(1.6, 0));
  EXPECT_FALSE(board.IsDue(1.6, 1));
  EXPECT_TRUE(board.IsDue(1.6, 2));
  board.Look(3);
  EXPECT_TRUE(board.IsDue(3.02, 0));
}

TEST(ViewBoard, GivesTheNewestToAll) {
  ViewBoard board;
  board.Post(At(1), 0);
  board.Post(At(2), 0);
  EXPECT_EQ(board.Look(2)->seconds, 2);
  EXPECT_EQ(board.Look(3)->seconds, 2);
  board.Post(At(4), 0);
}

// Under ThreadSanitizer: one posts, two look, and nobody waits.
TEST(ViewBoard, NeverGoesBackWhoeverLooks) {
  ViewBoard board;
  std::atomic<bool> over = false;
  const auto look = [&] {
    for (double last = 0; !over;) {
      const auto view = board.Look(1);
      if (view == nullptr) continue;
      EXPECT_GE(view->seconds, last);
      last = view->seconds;
    }
  };
  std::thread first(look);
  std::thread second(look);
  for (int i = 1; i <= 5000; ++i) board.Post(At(i), 0);
  over = true;
  first.join();
  second.join();
  EXPECT_EQ(board.Look(1)->seconds, 5000);
}

}  // namespace
}  // namespace skald::engine
