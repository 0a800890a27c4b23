#include "kv/kv_store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace skald::kv {
namespace {

// All layers of one shape.
KvLayout Layout(size_t layers, const KvShape& shape) {
  return {.types = kernels::KvType::kF16, .layers = std::vector<KvShape>(layers, shape)};
}

TEST(KvLayout, PublishedMemoryFigures) {
  // LLaMA 2 7B: 32 layers, 32 heads, 128 dims, f16: 524,288 bytes a token.
  const KvLayout llama2_7b = Layout(32, {32, 128, 128});
  EXPECT_EQ(llama2_7b.position_bytes(), 524288);
  // Llama 3 70B: 80 layers, 8 KV heads, 128 dims: 512 tokens are 160 MiB, 131072 are 40 GiB.
  const KvLayout llama3_70b = Layout(80, {8, 128, 128});
  EXPECT_EQ(llama3_70b.position_bytes() * 512, int64_t{160} << 20);
  EXPECT_EQ(llama3_70b.position_bytes() * 131072, int64_t{40} << 30);
  // 12 layers, d_model 768, f16, 4096 tokens: 144 MiB.
  const KvLayout gpt2 = Layout(12, {12, 64, 64});
  EXPECT_EQ(gpt2.position_bytes() * 4096, int64_t{144} << 20);
  // DeepSeek V3: 61 layers of a latent of 512 and a turned key of 64, f16: 70,272 bytes a token.
  const KvLayout v3 = Layout(61, {1, 576, 512, kernels::ValuePlace::kInKeys});
  EXPECT_EQ(v3.position_bytes(), 61 * 576 * 2);
}

TEST(KvLayout, IntegersTakeHalfAndAQuarterOfHalves) {
  const auto share = [](kernels::KvTypes types, const KvShape& shape) {
    return static_cast<double>(shape.position_bytes(types)) /
           static_cast<double>(shape.position_bytes(kernels::KvType::kF16));
  };
  EXPECT_LE(share(kernels::KvType::kQ8, {8, 128, 128}), 0.51);
  EXPECT_LE(share(kernels::KvType::kQ4, {8, 128, 128}), 0.26);
  EXPECT_LE(share(kernels::KvType::kQ8, {8, 64, 64}), 0.516);
  EXPECT_LE(share(kernels::KvType::kQ4, {8, 64, 64}), 0.27);
  EXPECT_NEAR(share({kernels::KvType::kQ8, kernels::KvType::kF16}, {8, 128, 128}), 0.754, 1e-3);
  // Odd sizes: K in groups of 4 or 8 elements, V in vectors of 16, two bytes of scale each.
  const KvShape odd = {3, 9, 17};
  EXPECT_EQ(odd.position_bytes(kernels::KvType::kQ8), 3 * ((12 + 2) + (32 + 2)));
  EXPECT_EQ(odd.position_bytes(kernels::KvType::kQ4), 3 * ((8 + 2) + (16 + 2)));
}

TEST(KvLayout, LatentsAreNotIntegers) {
  const KvShape latent = {1, 576, 512, kernels::ValuePlace::kInKeys};
  EXPECT_TRUE(latent.Allows(kernels::KvType::kBF16));
  EXPECT_FALSE(latent.Allows(kernels::KvType::kQ8));
  EXPECT_FALSE(Layout(2, latent).IsAllowed() && latent.Allows(kernels::KvType::kQ4));
}

TEST(KvStore, ViewsOfDifferentHeadsLayersAndPagesDoNotOverlap) {
  // Layers of two shapes.
  const KvLayout layout = {.types = kernels::KvType::kF16, .layers = {{3, 8, 5}, {1, 24, 40}}};
  Result<KvStore> store = KvStore::Create(layout, 4);
  ASSERT_TRUE(store.ok());
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
  const std::vector<PageId> pages = {3, 1, 0, 2};
  for (int64_t layer = 0; layer < 2; ++layer) {
    const KvShape& shape = layout.layers[static_cast<size_t>(layer)];
    for (int64_t head = 0; head < shape.kv_heads; ++head) {
      const kernels::PagedKv view = store->View(layer, head, pages);
      EXPECT_EQ(view.key_dim, shape.key_dim);
      EXPECT_EQ(view.value_dim, shape.value_dim);
      for (const PageId page : pages) {
        const std::byte* start = view.arena + page * view.page_stride;
        ranges.emplace_back(
            start + view.key_offset,
            start + view.key_offset + kernels::KeyPageBytes(view.types.keys, shape.key_dim));
        ranges.emplace_back(start + view.value_offset,
                            start + view.value_offset +
                                kernels::ValuePageBytes(view.types.values, shape.value_dim));
      }
    }
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
  EXPECT_EQ(ranges.back().second - ranges.front().first, store->bytes());
}

TEST(KvStore, CopiesAPageInAllLayersAndPoisonsOne) {
  const KvLayout layout = {.types = kernels::KvType::kF16,
                           .layers = {{3, 8, 5}, {1, 24, 16, kernels::ValuePlace::kInKeys}}};
  Result<KvStore> store = KvStore::Create(layout, 3);
  ASSERT_TRUE(store.ok());
  const auto page_of = [&](int64_t layer, int64_t page) {
    const kernels::PagedKv view = store->View(layer, 0, {});
    return view.arena + page * view.page_stride;
  };
  const auto size_of = [&](int64_t layer) {
    return static_cast<size_t>(store->View(layer, 0, {}).page_stride);
  };
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t page = 0; page < 3; ++page) {
      std::fill_n(page_of(layer, page), size_of(layer),
                  static_cast<std::byte>(10 * layer + page + 1));
    }
  }
  store->CopyPage({.from = 2, .to = 0, .positions = 31});
  store->Poison(1);
  for (int64_t layer = 0; layer < 2; ++layer) {
    const size_t size = size_of(layer);
    const std::vector<std::byte> old(size, static_cast<std::byte>(10 * layer + 3));
    const std::vector<std::byte> poison(size, std::byte{0xff});
    EXPECT_TRUE(std::equal(old.begin(), old.end(), page_of(layer, 0)));
    EXPECT_TRUE(std::equal(poison.begin(), poison.end(), page_of(layer, 1)));
    EXPECT_TRUE(std::equal(old.begin(), old.end(), page_of(layer, 2)));
  }
}

// Layers with windows have fewer pages, of numbers of their own.
// Bytes of some pages of a layer that the system has given.
int64_t ResidentBytes(KvStore* store, int64_t layer, int64_t first, int64_t count) {
  const kernels::PagedKv view = store->View(layer, 0, {});
  const int64_t bytes =
      store->layout().layers[static_cast<size_t>(layer)].page_bytes(store->layout().types);
  std::byte* begin = view.arena + first * bytes;
  std::vector<unsigned char> given(static_cast<size_t>(count * bytes / 4096));
  CHECK(reinterpret_cast<uintptr_t>(begin) % 4096 == 0 && bytes % 4096 == 0);
  CHECK(mincore(begin, static_cast<size_t>(count * bytes), given.data()) == 0);
  return 4096 * std::count_if(given.begin(), given.end(), [](unsigned char c) { return c & 1; });
}

// Without huge pages, which a system may be told to take everywhere: each would be of many pages.
TEST(KvStore, CommitsTheFirstPagesOfAllLayersPieceByPiece) {
  ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
  constexpr int64_t kPages = 24;
  const KvLayout layout = Layout(2, {2, 64, 64});
  const int64_t bytes = layout.layers[0].page_bytes(layout.types);
  KvStore store = *KvStore::Create(layout, kPages);
  const std::vector<std::byte> saved(static_cast<size_t>(store.page_bytes({1, 1})), std::byte{7});
  store.LoadPage({1, 1}, saved);
  EXPECT_EQ(ResidentBytes(&store, 0, 0, kPages), bytes);
  int pieces = 0;
  while (store.CommitNext(10)) ++pieces;
  EXPECT_EQ(pieces, 2);
  for (const int64_t layer : {0, 1}) {
    EXPECT_EQ(ResidentBytes(&store, layer, 0, 10), 10 * bytes);
    EXPECT_EQ(ResidentBytes(&store, layer, 10, kPages - 10), 0);
  }
  std::vector<std::byte> read(saved.size());
  store.SavePage({1, 1}, read);
  EXPECT_EQ(read, saved);
  while (store.CommitNext(2 * kPages)) ++pieces;
  EXPECT_EQ(pieces, 4);
  EXPECT_EQ(ResidentBytes(&store, 1, 0, kPages), kPages * bytes);
  prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
}

TEST(KvStore, CommitsLargeLayersInTurns) {
  const KvLayout layout = Layout(2, {32, 128, 128});
  KvStore store = *KvStore::Create(layout, 16);
  const int64_t bytes = layout.layers[0].page_bytes(layout.types);
  ASSERT_GT(bytes, 256 << 10);
  int pieces = 0;
  while (store.CommitNext(8)) ++pieces;
  // At most 2 MiB, or one page, each.
  EXPECT_EQ(pieces, 2 * 8 / std::max<int64_t>(1, (2 << 20) / bytes));
}

TEST(KvStore, TheGroupsHavePagesOfTheirOwn) {
  const KvShape shape = {.kv_heads = 2, .key_dim = 16, .value_dim = 16};
  KvShape windowed = shape;
  windowed.group = PageGroup::kWindow;
  const KvLayout layout = {
      .types = kernels::KvType::kF16, .layers = {shape, windowed, shape}, .window = 40};
  Result<KvStore> store = KvStore::Create(layout, {.full = 5, .window = 2});
  ASSERT_TRUE(store.ok());
  const int64_t page = shape.page_bytes(layout.types);
  EXPECT_EQ(layout.page_bytes(PageGroup::kFull), 2 * page);
  EXPECT_EQ(layout.page_bytes(), 3 * page);
  EXPECT_EQ(store->bytes(), (5 + 2 + 5) * page);
  const std::vector<PageId> full = {4, 3};
  const std::vector<PageId> window = {kNoPage, 1};
  const PageLists pages(full, window);
  EXPECT_EQ(store->View(0, 0, pages).pages, full.data());
  EXPECT_EQ(store->View(1, 0, pages).pages, window.data());
  EXPECT_EQ(store->View(2, 0, pages).arena - store->View(1, 0, pages).arena, 2 * page);
  const auto first_byte = [&](int64_t layer, PageId id) -> std::byte& {
    return store->View(layer, 0, pages).arena[id * page];
  };
  first_byte(0, 4) = std::byte{7};
  first_byte(1, 1) = std::byte{9};
  store->CopyPage({.from = 4, .to = 2, .positions = 3, .window_from = 1, .window_to = 0});
  EXPECT_EQ(first_byte(0, 2), std::byte{7});
  EXPECT_EQ(first_byte(1, 0), std::byte{9});
  store->Poison(PageGroup::kWindow, 1);
  EXPECT_EQ(first_byte(1, 1), std::byte{0xff});
  EXPECT_EQ(first_byte(0, 1), std::byte{0});
  EXPECT_EQ(first_byte(0, 4), std::byte{7});
}

}  // namespace
}  // namespace skald::kv
