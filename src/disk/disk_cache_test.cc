#include "skald/disk_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "disk/test_pages.h"

namespace skald {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

void PutThree(const disk::TestFolder& folder) {
  auto files = disk::OpenFiles(folder, kMiB, 4096, "tiny\x1b[2J");
  for (int i = 0; i < 3; ++i) {
    files->Put(disk::TestPage(i).name(), disk::TestPage(i).page);
  }
}

TEST(DiskCache, ListsWhatStandsThere) {
  const disk::TestFolder folder;
  PutThree(folder);
  const auto list = ListDiskCache(folder.path(), DiskCacheCheck::kHeaders);
  ASSERT_TRUE(list.ok()) << list.status().message();
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().file, "segment-00");
  EXPECT_EQ(list->front().label, "tiny?[2J");  // nothing that a terminal would obey
  EXPECT_EQ(list->front().pages, 3);
  EXPECT_EQ(list->front().damaged, 0);
  EXPECT_EQ(list->front().page_bytes, 4096);
  EXPECT_EQ(list->front().bytes, 256 + 3 * (320 + 4096));
}

TEST(DiskCache, VerifyReadsThePagesToo) {
  const disk::TestFolder folder;
  PutThree(folder);
  {
    std::fstream file(folder.File("segment-00"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(256 + 320 + 4096 + 320 + 5);
    file.put('\x77');
  }
  EXPECT_EQ(ListDiskCache(folder.path(), DiskCacheCheck::kHeaders)->front().damaged, 0);
  EXPECT_EQ(ListDiskCache(folder.path(), DiskCacheCheck::kPages)->front().damaged, 1);
  EXPECT_EQ(ListDiskCache(folder.path(), DiskCacheCheck::kPages)->front().pages, 2);
}

TEST(DiskCache, OneThatIsOpenIsListedButNotVerifiedOrCleared) {
  const disk::TestFolder folder;
  const auto open = DiskCache::Open(folder.path(), kMiB);
  ASSERT_TRUE(open.ok()) << open.status().message();
  EXPECT_TRUE(ListDiskCache(folder.path(), DiskCacheCheck::kHeaders).ok());
  EXPECT_EQ(ListDiskCache(folder.path(), DiskCacheCheck::kPages).status().code(),
            ErrorCode::kUnavailable);
  EXPECT_EQ(ClearDiskCache(folder.path()).code(), ErrorCode::kUnavailable);
}

TEST(DiskCache, ClearLeavesTheSecret) {
  const disk::TestFolder folder;
  ASSERT_TRUE((*DiskCache::Open(folder.path(), kMiB))->KeepSecret(std::string(32, 'a')).ok());
  PutThree(folder);
  EXPECT_TRUE(ClearDiskCache(folder.path()).ok());
  EXPECT_TRUE(ListDiskCache(folder.path(), DiskCacheCheck::kHeaders)->empty());
  EXPECT_EQ(*(*DiskCache::Open(folder.path(), kMiB))->KeepSecret(std::string(32, 'b')),
            std::string(32, 'a'));
}

TEST(DiskCache, AFolderThatIsNotThereIsNotMadeToBeLookedAt) {
  const disk::TestFolder folder;
  for (const auto check : {DiskCacheCheck::kHeaders, DiskCacheCheck::kPages}) {
    EXPECT_EQ(ListDiskCache(folder.path(), check).status().code(), ErrorCode::kNotFound);
  }
  EXPECT_EQ(ClearDiskCache(folder.path()).code(), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder.path()));
}

}  // namespace
}  // namespace skald
