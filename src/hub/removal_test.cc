#include "hub/removal.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "hub/partial_file.h"

namespace skald::hub {
namespace {

namespace fs = std::filesystem;

const std::string kCommit = std::string(39, 'c') + "0";
const std::string kOlder = std::string(39, 'c') + "1";

class RemovalTest : public testing::Test {
 protected:
  RemovalTest()
      : root_(testing::TempDir() + "/removal_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    EXPECT_TRUE(folder().Make().ok());
    EXPECT_TRUE(folder().SetCommit(kCommit).ok());
  }
  ~RemovalTest() override { fs::remove_all(root_); }

  CacheFolder folder() const { return CacheFolder(root_, reference_); }
  Hub hub() const { return Hub({.cache_dir = root_, .files_dir = root_ + "/files"}); }
  void Put(const std::string& name, const std::string& bytes, const std::string& commit = kCommit) {
    std::ofstream(folder().BlobPath(bytes)) << bytes;
    ASSERT_TRUE(folder().Link(commit, {.path = name, .blob = bytes}).ok());
  }
  bool IsHere(const std::string& text) const {
    return hub().Cached(*ParseModelReference(text)).ok();
  }
  Result<RemovedModel> Remove(const std::string& text, RemoveMode mode = RemoveMode::kRemove) {
    return hub().Remove(*ParseModelReference(text), mode);
  }

  std::string root_;
  ModelReference reference_ = *ParseModelReference("hf://o/n");
};

TEST_F(RemovalTest, TakesAwayTheModelAndLeavesTheOthers) {
  Put("m-Q4_K_M.gguf", "four");
  Put("m-Q8_0.gguf", "eight");
  const auto removed = Remove("hf://o/n:q8_0");
  ASSERT_TRUE(removed.ok()) << removed.status().message();
  EXPECT_EQ(removed->bytes, 5);
  EXPECT_FALSE(IsHere("hf://o/n:q8_0"));
  EXPECT_TRUE(IsHere("hf://o/n:q4_k_m"));
  EXPECT_FALSE(fs::exists(folder().BlobPath("eight")));
  EXPECT_EQ(folder().Commit(), kCommit);
}

TEST_F(RemovalTest, OfTheLastModelNothingIsLeft) {
  Put("sub/m-00001-of-00002.gguf", "first");
  Put("sub/m-00002-of-00002.gguf", "second");
  const auto removed = Remove("hf://o/n");
  ASSERT_TRUE(removed.ok()) << removed.status().message();
  EXPECT_EQ(removed->bytes, 11);
  EXPECT_FALSE(fs::exists(root_ + "/models--o--n"));
  EXPECT_EQ(Remove("hf://o/n").status().code(), ErrorCode::kNotFound);
}

TEST_F(RemovalTest, OnlyLooks) {
  Put("m-Q8_0.gguf", "eight");
  EXPECT_EQ(Remove("hf://o/n", RemoveMode::kLook)->bytes, 5);
  EXPECT_TRUE(IsHere("hf://o/n"));
}

TEST_F(RemovalTest, KeepsBytesThatAnotherRevisionNames) {
  Put("m.gguf", "weights");
  Put("m.gguf", "weights", kOlder);
  EXPECT_EQ(Remove("hf://o/n")->bytes, 0);
  EXPECT_TRUE(fs::exists(folder().BlobPath("weights")));
  EXPECT_EQ(Remove("hf://o/n@" + kOlder)->bytes, 7);
  EXPECT_FALSE(fs::exists(folder().BlobPath("weights")));
}

TEST_F(RemovalTest, KeepsFilesThatAreNoModel) {
  Put("m.gguf", "weights");
  Put("config.json", "{}");
  ASSERT_TRUE(Remove("hf://o/n").ok());
  EXPECT_TRUE(fs::exists(folder().FilePath(kCommit, "config.json")));
  EXPECT_EQ(folder().Commit(), kCommit);
}

TEST_F(RemovalTest, DoesNotFollowLinksThatLeadElsewhere) {
  std::ofstream(root_ + "/precious") << "precious";
  const fs::path link = folder().FilePath(kCommit, "m.gguf");
  fs::create_directories(link.parent_path());
  for (const std::string target : {"../../../precious", "../../blobs/../../precious"}) {
    fs::create_symlink(target, link);
    ASSERT_TRUE(Remove("hf://o/n").ok()) << target;
    EXPECT_FALSE(fs::is_symlink(link));
    EXPECT_TRUE(fs::exists(root_ + "/precious")) << target;
    fs::create_directories(link.parent_path());
    ASSERT_TRUE(folder().Make().ok());
    ASSERT_TRUE(folder().SetCommit(kCommit).ok());
  }
}

TEST_F(RemovalTest, TakesAwayWhatHasComeOfUnfinishedFiles) {
  std::ofstream(folder().BlobPath("half.partial")) << "ha";
  std::ofstream(folder().BlobPath("half.partial.state")) << "state";
  EXPECT_EQ(Remove("hf://o/n")->bytes, 2);
  EXPECT_FALSE(fs::exists(root_ + "/models--o--n"));
}

TEST_F(RemovalTest, LeavesAloneWhatAnotherProcessIsFetching) {
  Put("m.gguf", "weights");
  {
    const auto lock = FileLock::Take(folder().BlobPath("weights"), [] { return true; });
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(Remove("hf://o/n").status().code(), ErrorCode::kUnavailable);
  }
  EXPECT_TRUE(IsHere("hf://o/n"));
}

TEST_F(RemovalTest, RemovesAFileFromAnAddress) {
  fs::create_directories(root_ + "/files");
  std::ofstream(root_ + "/files/m.gguf") << "weights";
  EXPECT_EQ(Remove("https://h/m.gguf")->bytes, 7);
  EXPECT_FALSE(fs::exists(root_ + "/files/m.gguf"));
  EXPECT_EQ(Remove("https://h/m.gguf").status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace skald::hub
