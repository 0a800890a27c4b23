#include "kv/page_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "kv/kv_store.h"
#include "kv/page_table.h"

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
      if (page) ASSERT_TRUE(counts.emplace(*page, 1).second) << "handed out twice: " << *page;
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

TEST(PageTable, ReservesWholePagesAndGivesThemBack) {
  PagePool pool(4);
  {
    PageTable table(&pool, 128);
    EXPECT_TRUE(table.Reserve(0));
    EXPECT_EQ(table.pages().size(), 0u);
    EXPECT_TRUE(table.Reserve(1));
    EXPECT_EQ(table.pages().size(), 1u);
    EXPECT_TRUE(table.Reserve(32));
    EXPECT_EQ(table.pages().size(), 1u);
    EXPECT_TRUE(table.Reserve(33));
    EXPECT_EQ(table.pages().size(), 2u);
    table.Truncate(32);
    EXPECT_EQ(table.pages().size(), 1u);
    EXPECT_EQ(pool.free_count(), 3);
  }
  EXPECT_EQ(pool.free_count(), 4);
}

TEST(PageTable, RefusesWithoutTakingAnythingWhenThePoolIsTooSmall) {
  PagePool pool(2);
  PageTable table(&pool, 320);
  ASSERT_TRUE(table.Reserve(10));
  EXPECT_FALSE(table.Reserve(97));
  EXPECT_EQ(table.pages().size(), 1u);
  EXPECT_EQ(pool.free_count(), 1);
  EXPECT_TRUE(table.Reserve(64));
}

TEST(PageTable, MovedFromTableHoldsNothing) {
  PagePool pool(2);
  PageTable first(&pool, 64);
  ASSERT_TRUE(first.Reserve(64));
  PageTable second = std::move(first);
  EXPECT_EQ(pool.free_count(), 0);
  second.Truncate(0);
  EXPECT_EQ(pool.free_count(), 2);
}

TEST(KvLayout, PublishedMemoryFigures) {
  // LLaMA 2 7B: 32 layers, 32 heads, 128 dims, f16: 524,288 bytes a token.
  const KvLayout llama2_7b{kernels::KvType::kF16, 32, 32, 128, 128};
  EXPECT_EQ(llama2_7b.position_bytes(), 524288);
  // Llama 3 70B: 80 layers, 8 KV heads, 128 dims: 512 tokens are 160 MiB, 131072 are 40 GiB.
  const KvLayout llama3_70b{kernels::KvType::kF16, 80, 8, 128, 128};
  EXPECT_EQ(llama3_70b.position_bytes() * 512, int64_t{160} << 20);
  EXPECT_EQ(llama3_70b.position_bytes() * 131072, int64_t{40} << 30);
  // 12 layers, d_model 768, f16, 4096 tokens: 144 MiB.
  const KvLayout gpt2{kernels::KvType::kF16, 12, 12, 64, 64};
  EXPECT_EQ(gpt2.position_bytes() * 4096, int64_t{144} << 20);
}

TEST(KvStore, ViewsOfDifferentHeadsLayersAndPagesDoNotOverlap) {
  const KvLayout layout{kernels::KvType::kF16, 2, 3, 8, 5};
  Result<KvStore> store = KvStore::Create(layout, 4);
  ASSERT_TRUE(store.ok());
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
  const std::vector<PageId> pages = {3, 1, 0, 2};
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t head = 0; head < 3; ++head) {
      const kernels::PagedKv view = store->View(layer, head, pages);
      for (const PageId page : pages) {
        const std::byte* start = view.arena + page * view.page_stride;
        ranges.emplace_back(start + view.key_offset,
                            start + view.key_offset + kernels::KeyPageBytes(view.type, 8));
        ranges.emplace_back(start + view.value_offset,
                            start + view.value_offset + kernels::ValuePageBytes(view.type, 5));
      }
    }
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
  EXPECT_EQ(ranges.back().second - ranges.front().first, store->bytes());
}

}  // namespace
}  // namespace skald::kv
