#include "kv/page_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace skald::kv {
namespace {

TEST(PagePool, HandsOutEveryPageOnceAndThenNone) {
  PagePool pool(3);
  EXPECT_EQ(pool.Allocate(), 0);
  EXPECT_EQ(pool.Allocate(), 1);
  EXPECT_EQ(pool.Allocate(), 2);
  EXPECT_EQ(pool.Allocate(), std::nullopt);
  EXPECT_EQ(pool.free_count(), 0);
}

TEST(PagePool, KnowsTheHighestPageThatAnybodyHasHad) {
  PagePool pool(4);
  EXPECT_EQ(pool.used_end(), 0);
  pool.Release(*pool.Allocate());
  EXPECT_EQ(pool.used_end(), 1);
  static_cast<void>(pool.Allocate());
  EXPECT_EQ(pool.used_end(), 1);  // the same again
  static_cast<void>(pool.Allocate());
  EXPECT_EQ(pool.used_end(), 2);
}

TEST(PagePool, EmptyPoolHasNoPage) {
  PagePool pool(0);
  EXPECT_EQ(pool.Allocate(), std::nullopt);
}

TEST(PagePool, PageIsFreeOnlyAfterItsLastReference) {
  PagePool pool(1);
  const PageId page = *pool.Allocate();
  pool.AddReference(page);
  EXPECT_FALSE(pool.IsWritable(page));
  pool.Release(page);
  EXPECT_TRUE(pool.IsWritable(page));
  EXPECT_EQ(pool.free_count(), 0);
  pool.Release(page);
  EXPECT_EQ(pool.free_count(), 1);
}

TEST(PagePoolDeathTest, ReleasingAFreePageIsABug) {
  PagePool pool(1);
  EXPECT_DEATH(pool.Release(0), "CHECK failed");
  EXPECT_DEATH(pool.Release(7), "CHECK failed");
}

TEST(PagePool, AccountsForSequencesAndCacheApart) {
  PagePool pool(3);
  const PageId page = *pool.Allocate();
  EXPECT_EQ(pool.held_count(), 1);
  pool.AddCacheReference(page);
  pool.AddCacheReference(page);
  EXPECT_EQ(pool.reference_count(page), 3);
  EXPECT_EQ(pool.cached_count(), 0);  // a sequence holds it
  pool.Release(page);
  EXPECT_EQ(pool.held_count(), 0);
  EXPECT_EQ(pool.cached_count(), 1);
  EXPECT_EQ(pool.evictable_count(), 1);
  pool.LockCached(page);
  EXPECT_EQ(pool.cached_count(), 1);
  EXPECT_EQ(pool.evictable_count(), 0);
  pool.UnlockCached(page);
  pool.ReleaseCacheReference(page);
  EXPECT_EQ(pool.free_count(), 2);
  pool.ReleaseCacheReference(page);
  EXPECT_EQ(pool.free_count(), 3);
  EXPECT_EQ(pool.CheckIntegrity(), "");
}

TEST(PagePool, RecordsWhatBecomesFree) {
  PagePool pool(2);
  std::vector<PageId> freed;
  pool.RecordFreed(&freed);
  const PageId page = *pool.Allocate();
  pool.AddCacheReference(page);
  pool.Release(page);
  EXPECT_TRUE(freed.empty());
  pool.ReleaseCacheReference(page);
  EXPECT_EQ(freed, std::vector<PageId>{page});
}

TEST(PagePoolDeathTest, KindsOfReferencesAreNotInterchangeable) {
  PagePool pool(1);
  const PageId page = *pool.Allocate();
  EXPECT_DEATH(pool.ReleaseCacheReference(page), "CHECK failed");
  EXPECT_DEATH(pool.LockCached(page), "CHECK failed");
  pool.AddCacheReference(page);
  pool.LockCached(page);
  EXPECT_DEATH(pool.ReleaseCacheReference(page), "CHECK failed");
}

// Model-based: the real pool beside a map from page to count, random events to both.
TEST(PagePool, AgreesWithAMapUnderRandomEvents) {
  constexpr int64_t kPages = 17;
  PagePool pool(kPages);
  std::map<PageId, int32_t> counts;
  std::mt19937 random(5);
  for (int event = 0; event < 100000; ++event) {
    const auto kind = random() % 3;
    if (kind == 0) {
      const auto page = pool.Allocate();
      ASSERT_EQ(page.has_value(), counts.size() < kPages);
      if (page) {
        ASSERT_TRUE(counts.emplace(*page, 1).second) << "handed out twice: " << *page;
      }
    } else if (!counts.empty()) {
      auto chosen = std::next(counts.begin(), static_cast<long>(random() % counts.size()));
      if (kind == 1) {
        pool.AddReference(chosen->first);
        ++chosen->second;
      } else {
        pool.Release(chosen->first);
        if (--chosen->second == 0) counts.erase(chosen);
      }
    }
    ASSERT_EQ(pool.free_count() + static_cast<int64_t>(counts.size()), pool.total_count());
    for (const auto& [page, count] : counts) ASSERT_EQ(pool.reference_count(page), count);
  }
}

}  // namespace
}  // namespace skald::kv
