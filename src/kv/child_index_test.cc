#include "kv/child_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace skald::kv {
namespace {

TEST(ChildIndex, KeysDifferByParentAndByLabel) {
  ChildIndex index(0);
  index.Insert({1, 5}, 10);
  EXPECT_EQ(index.Find({1, 5}), 10);
  EXPECT_EQ(index.Find({2, 5}), kNoNode);
  EXPECT_EQ(index.Find({1, 6}), kNoNode);
  EXPECT_EQ(index.Find({kNoNode, 5}), kNoNode);
}

TEST(ChildIndexDeathTest, MissingAndDoubleEntriesAreBugs) {
  ChildIndex index(0);
  index.Insert({1, 5}, 10);
  EXPECT_DEATH(index.Insert({1, 5}, 11), "CHECK failed");
  EXPECT_DEATH(index.Erase({1, 6}), "CHECK failed");
  EXPECT_DEATH(index.Replace({1, 6}, 1), "CHECK failed");
}

// Few keys, so that runs of entries form, wrap around the end, and lose members in their middle;
// many, so that the table grows.
TEST(ChildIndex, AgreesWithAMapUnderRandomEvents) {
  for (const unsigned keys : {40u, 5000u}) {
    ChildIndex index(0);
    std::map<std::pair<NodeId, uint64_t>, NodeId> model;
    std::mt19937 random(3);
    for (int event = 0; event < 100000; ++event) {
      const EdgeKey key{static_cast<NodeId>(random() % 8) - 1, random() % (keys / 8)};
      const auto child = static_cast<NodeId>(random() % 1000);
      const auto found = model.find({key.parent, key.label});
      ASSERT_EQ(index.Find(key), found == model.end() ? kNoNode : found->second);
      if (found == model.end()) {
        index.Insert(key, child);
        model[{key.parent, key.label}] = child;
      } else if (random() % 3 == 0) {
        index.Replace(key, child);
        found->second = child;
      } else {
        index.Erase(key);
        model.erase(found);
      }
      ASSERT_EQ(index.size(), static_cast<int64_t>(model.size()));
    }
    for (const auto& [key, child] : model) ASSERT_EQ(index.Find({key.first, key.second}), child);
  }
}

}  // namespace
}  // namespace skald::kv
