#include "engine/options.h"

#include <gtest/gtest.h>

namespace skald::engine {
namespace {

TEST(Resolve, TheContextEndsWhereLearnedPositionsDo) {
  const auto resolve = [](int64_t context, model::Positions positions) {
    return Resolve({.context = context}, {.context = 100, .positions = positions});
  };
  EXPECT_TRUE(resolve(100, model::Positions::kLearned).ok());
  EXPECT_EQ(resolve(0, model::Positions::kLearned)->context, 100);
  EXPECT_TRUE(resolve(101, model::Positions::kNone).ok());
  const auto refused = resolve(101, model::Positions::kLearned);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("context is 101, expected 1 to 100"), std::string::npos)
      << refused.status().message();
}

}  // namespace
}  // namespace skald::engine
