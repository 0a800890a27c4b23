#include "hub/disk_use.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace skald::hub {
namespace {

namespace fs = std::filesystem;

class DiskUseTest : public testing::Test {
 protected:
  DiskUseTest()
      : root_(testing::TempDir() + "/disk_use_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
  }
  ~DiskUseTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, size_t bytes) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << std::string(bytes, 'x');
  }

  fs::path root_;
};

// Of a file system with blocks of 4 KiB or less, the usual ones.
constexpr int64_t kBlock = 4096;

TEST_F(DiskUseTest, ARepositoryCountsItsBytesOnceAndWhatIsNotWholeApart) {
  Write("models--o--n/blobs/aa", 100'000);
  Write("models--o--n/blobs/bb.partial", 50'000);
  Write("models--o--n/blobs/cc.incomplete", 9'000);
  for (const char* name : {"one.gguf", "again.gguf"}) {
    fs::create_directories(root_ / "models--o--n/snapshots/c");
    fs::create_symlink("../../blobs/aa", root_ / "models--o--n/snapshots/c" / name);
  }
  Write("datasets--o--n/blobs/dd", 1'000'000);
  const std::vector<DiskUse> uses = UseOfCache(root_.string());
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].name, "hf://o/n");
  EXPECT_EQ(uses[0].path, (root_ / "models--o--n").string());
  EXPECT_GE(uses[0].bytes, 100'000);
  EXPECT_LE(uses[0].bytes, 100'000 + kBlock);
  EXPECT_GE(uses[0].unfinished_bytes, 59'000);
  EXPECT_LE(uses[0].unfinished_bytes, 59'000 + 2 * kBlock);
}

// A fetch writes its ranges in any order: the file is as long as the whole from the first byte on.
TEST_F(DiskUseTest, AHoleTakesNoRoom) {
  Write("m.gguf.partial", 10);
  fs::resize_file(root_ / "m.gguf.partial", 1 << 30);
  Write("m.gguf.partial.state", 10);
  Write("m.gguf.lock", 10);
  Write("other.gguf", 5'000);
  const std::vector<DiskUse> uses = UseOfFiles(root_.string());
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].name, "m.gguf");
  EXPECT_EQ(uses[0].bytes, 0);
  EXPECT_GT(uses[0].unfinished_bytes, 0);
  EXPECT_LE(uses[0].unfinished_bytes, 4 * kBlock);
  EXPECT_EQ(uses[1].name, "other.gguf");
  EXPECT_GE(uses[1].bytes, 5'000);
  EXPECT_EQ(uses[1].unfinished_bytes, 0);
}

// A link of the cache that leads out of it is not somebody's model.
TEST_F(DiskUseTest, ALinkIsNotFollowed) {
  Write("elsewhere/large", 100'000);
  fs::create_directories(root_ / "cache/models--o--n/blobs");
  fs::create_symlink(root_ / "elsewhere/large", root_ / "cache/models--o--n/blobs/aa");
  fs::create_symlink(root_ / "elsewhere", root_ / "cache/models--o--n/snapshots");
  const std::vector<DiskUse> uses = UseOfCache((root_ / "cache").string());
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].bytes, 0);
}

TEST_F(DiskUseTest, AFolderThatIsNotThereHoldsNothing) {
  EXPECT_TRUE(UseOfCache((root_ / "none").string()).empty());
  EXPECT_TRUE(UseOfFiles((root_ / "none").string()).empty());
}

}  // namespace
}  // namespace skald::hub
