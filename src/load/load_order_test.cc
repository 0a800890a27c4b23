#include "load/load_order.h"

#include <gtest/gtest.h>

#include <limits>

namespace skald::load {
namespace {

LoadOptions Full() {
  return {.path = "folder/tales.gguf",
          .threads = 3,
          .conventions = Conventions::kLlamaCpp,
          .rope = {.stretch = RopeStretch::kYarn,
                   .factor = 4.5,
                   .base = 1e6,
                   .trained_context = 4096,
                   .extrapolation = 0,
                   .beta_slow = 1},
          .endless = {.sinks = 4, .window = 1020},
          .max_table_bytes = int64_t{1} << 40};
}

TEST(LoadOrder, BringsWhatWasOrdered) {
  for (const LoadOptions& wanted : {Full(), LoadOptions{.path = "x"}}) {
    const Result<LoadOptions> found = ReadLoadOrder(WriteLoadOrder(wanted));
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->path, wanted.path);
    EXPECT_EQ(found->threads, wanted.threads);
    EXPECT_EQ(found->conventions, wanted.conventions);
    EXPECT_EQ(found->rope, wanted.rope);
    EXPECT_EQ(found->endless, wanted.endless);
    EXPECT_EQ(found->max_table_bytes, wanted.max_table_bytes);
  }
}

TEST(LoadOrder, RefusesWhatIsNone) {
  const std::vector<std::byte> order = WriteLoadOrder(Full());
  for (size_t length = 0; length < order.size(); ++length) {
    EXPECT_FALSE(ReadLoadOrder(std::span(order).first(length)).ok()) << length;
  }
  std::vector<std::byte> longer = order;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(ReadLoadOrder(longer).ok());
  const size_t conventions = sizeof(uint64_t) + Full().path.size() + sizeof(int32_t);
  std::vector<std::byte> wrong = order;
  wrong[conventions] = std::byte{2};
  EXPECT_FALSE(ReadLoadOrder(wrong).ok());
  LoadOptions context = Full();
  context.rope.trained_context = -1;
  EXPECT_FALSE(ReadLoadOrder(WriteLoadOrder(context)).ok());
  context.rope.trained_context = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(ReadLoadOrder(WriteLoadOrder(context)).ok());
  context.rope = {.stretch = static_cast<RopeStretch>(9)};
  EXPECT_FALSE(ReadLoadOrder(WriteLoadOrder(context)).ok());
}

TEST(LoadOrder, BringsTheAnswer) {
  const LoadAnswer wanted = {.identity = 0xfedcba9876543210, .not_finite = {"a.weight", "b"}};
  const std::vector<std::byte> bytes = WriteLoadAnswer(wanted);
  const Result<LoadAnswer> found = ReadLoadAnswer(bytes);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->identity, wanted.identity);
  EXPECT_EQ(found->not_finite, wanted.not_finite);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(ReadLoadAnswer(std::span(bytes).first(length)).ok()) << length;
  }
}

}  // namespace
}  // namespace skald::load
