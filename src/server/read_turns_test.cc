#include "server/read_turns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald::server {
namespace {

// Turns whose posted calls are made one by one.
class ReadTurnsTest : public ::testing::Test {
 protected:
  void Add(const std::string& payer, const std::string& name) {
    turns_.Add(payer, [this, name] { served_ += name; });
  }
  // Makes the calls that are posted, and those that they post, at most `most`.
  void Run(int most = 1000) {
    for (; !posted_.empty() && most > 0; --most) {
      const auto work = std::move(posted_.front());
      posted_.erase(posted_.begin());
      work();
    }
  }

  std::vector<ReadTurns::Work> posted_;
  std::string served_;
  ReadTurns turns_{[this](ReadTurns::Work work) { posted_.push_back(std::move(work)); }};
};

TEST_F(ReadTurnsTest, ServesNothingAtOnceAndInItsOrderLater) {
  for (const char* const name : {"a", "b", "c"}) Add("one", name);
  EXPECT_EQ(served_, "");
  EXPECT_EQ(posted_.size(), 1U);
  Run();
  EXPECT_EQ(served_, "abc");
  EXPECT_TRUE(posted_.empty());
}

TEST_F(ReadTurnsTest, ServesOnePieceACall) {
  for (const char* const name : {"a", "b", "c"}) Add("one", name);
  Run(1);
  EXPECT_EQ(served_, "a");
  EXPECT_EQ(posted_.size(), 1U);
}

TEST_F(ReadTurnsTest, GivesANewcomerTheNextTurnButOne) {
  for (int i = 0; i < 100; ++i) Add("crowd", "c");
  Run(3);
  Add("honest", "h");
  Run(2);
  EXPECT_EQ(served_, "cccch");
}

TEST_F(ReadTurnsTest, LetsPayersTakeTurnsWhateverTheyBring) {
  for (int i = 0; i < 5; ++i) Add("a", "a");
  for (int i = 0; i < 2; ++i) Add("b", "b");
  Add("c", "c");
  Run();
  EXPECT_EQ(served_, "abcabaaa");
}

TEST_F(ReadTurnsTest, TakesWorkThatBringsMore) {
  turns_.Add("a", [this] {
    served_ += "1";
    Add("a", "2");
    Add("b", "3");
  });
  Run();
  EXPECT_EQ(served_, "123");
  Add("a", "4");
  Run();
  EXPECT_EQ(served_, "1234");
}

}  // namespace
}  // namespace skald::server
