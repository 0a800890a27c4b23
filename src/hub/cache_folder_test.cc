#include "hub/cache_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace skald::hub {
namespace {

namespace fs = std::filesystem;

const std::string kCommit = std::string(39, 'c') + "0";

class CacheFolderTest : public testing::Test {
 protected:
  CacheFolderTest()
      : root_(testing::TempDir() + "/cache_folder_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
  }
  ~CacheFolderTest() override { fs::remove_all(root_); }

  std::string root_;
  ModelReference reference_ = *ParseModelReference("hf://o/n");
};

// The layout is another program's: its names are pinned here.
TEST_F(CacheFolderTest, HasTheLayoutOfHuggingFace) {
  const CacheFolder folder(root_, reference_);
  EXPECT_EQ(folder.Commit(), "");
  ASSERT_TRUE(folder.Make().ok());
  std::ofstream(folder.BlobPath("b1")) << "weights";
  ASSERT_TRUE(folder.Link(kCommit, {.path = "sub/a.gguf", .blob = "b1"}).ok());
  ASSERT_TRUE(folder.SetCommit(kCommit).ok());
  const fs::path base = root_ + "/models--o--n";
  EXPECT_EQ(fs::read_symlink(base / "snapshots" / kCommit / "sub/a.gguf").string(),
            "../../../blobs/b1");
  EXPECT_EQ(fs::file_size(base / "refs/main"), 40u);
  EXPECT_EQ(folder.Commit(), kCommit);
  const std::vector<ListedFile> files = folder.Files(kCommit);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].path, "sub/a.gguf");
  EXPECT_EQ(files[0].bytes, 7);
  // What hangs in the air is not there.
  fs::remove(folder.BlobPath("b1"));
  EXPECT_TRUE(folder.Files(kCommit).empty());
}

// As two pulls that end at the same moment do.
TEST_F(CacheFolderTest, SeveralGiveTheSameNamesAtOnce) {
  const CacheFolder folder(root_, reference_);
  ASSERT_TRUE(folder.Make().ok());
  std::ofstream(folder.BlobPath("b1")) << "weights";
  std::vector<Status> worst(4, Ok());
  {
    std::vector<std::jthread> pulls;
    for (Status& status : worst)
      pulls.emplace_back([&] {
        for (int i = 0; i < 100 && status.ok(); ++i) {
          status = folder.Link(kCommit, {.path = "a.gguf", .blob = "b1"});
          if (status.ok()) status = folder.SetCommit(kCommit);
        }
      });
  }
  for (const Status& status : worst) EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(folder.Commit(), kCommit);
  EXPECT_EQ(folder.Files(kCommit).size(), 1u);
  const fs::directory_iterator refs(root_ + "/models--o--n/refs");
  EXPECT_EQ(std::distance(begin(refs), end(refs)), 1) << "something is left over";
}

TEST_F(CacheFolderTest, ARevisionThatIsNoCommitIsNone) {
  const CacheFolder folder(root_, reference_);
  ASSERT_TRUE(folder.Make().ok());
  for (const std::string& text : {std::string("../../elsewhere"), std::string(), kCommit + "0"}) {
    std::ofstream(root_ + "/models--o--n/refs/main") << text;
    EXPECT_EQ(folder.Commit(), "") << text;
  }
  std::ofstream(root_ + "/models--o--n/refs/main") << kCommit << "\n";
  EXPECT_EQ(folder.Commit(), kCommit);
  reference_.revision = kCommit;
  EXPECT_EQ(CacheFolder(root_, reference_).Commit(), kCommit);
}

TEST_F(CacheFolderTest, ACachedModelIsFoundWithoutANetwork) {
  const CacheFolder folder(root_, reference_);
  ASSERT_TRUE(folder.Make().ok());
  for (const char* name : {"m-Q4_K_M.gguf", "m-Q8_0.gguf"}) {
    std::ofstream(folder.BlobPath(name)) << name;
    ASSERT_TRUE(folder.Link(kCommit, {.path = name, .blob = name}).ok());
  }
  ASSERT_TRUE(folder.SetCommit(kCommit).ok());
  const Hub hub({.cache_dir = root_, .files_dir = root_ + "/files"});
  const std::string snapshot = root_ + "/models--o--n/snapshots/" + kCommit + "/";
  EXPECT_EQ(*hub.Cached(reference_), snapshot + "m-Q4_K_M.gguf");
  EXPECT_EQ(*hub.Cached(*ParseModelReference("hf://o/n:q8_0")), snapshot + "m-Q8_0.gguf");
  EXPECT_EQ(hub.Cached(*ParseModelReference("hf://o/n:Q6_K")).status().code(),
            ErrorCode::kNotFound);
  EXPECT_EQ(hub.Cached(*ParseModelReference("hf://o/other")).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(hub.Cached(*ParseModelReference("https://h/x.gguf")).status().code(),
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace skald::hub
