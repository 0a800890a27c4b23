#include "cli/output_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace skald::cli {
namespace {

namespace fs = std::filesystem;

std::string Content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A folder of its own for each test.
class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("skald_output_" + std::to_string(getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path Path(const char* name) const { return folder_ / name; }
  int64_t FileCount() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, AppearsOnlyWhenCommitted) {
  Result<OutputFile> file = OutputFile::Create(Path("rows"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_TRUE(file->Write("ab").ok());
  EXPECT_FALSE(fs::exists(Path("rows")));
  ASSERT_TRUE(file->Write("c").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(Path("rows")), "abc");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(OutputFileTest, LeavesTheOldFileWhenDropped) {
  std::ofstream(Path("rows")) << "old";
  {
    Result<OutputFile> file = OutputFile::Create(Path("rows"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("new").ok());
  }
  EXPECT_EQ(Content(Path("rows")), "old");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(OutputFileTest, ReplacesTheOldFileWhenCommitted) {
  std::ofstream(Path("rows")) << "much longer than the new one";
  Result<OutputFile> file = OutputFile::Create(Path("rows"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Write("new").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(Path("rows")), "new");
}

TEST_F(OutputFileTest, WritesThroughASymbolicLink) {
  std::ofstream(Path("target")) << "old";
  fs::create_symlink("target", Path("link"));
  Result<OutputFile> file = OutputFile::Create(Path("link"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Write("new").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Content(Path("target")), "new");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
}

TEST_F(OutputFileTest, WritesADeviceDirectlyAndReportsThatItIsFull) {
  Result<OutputFile> file = OutputFile::Create("/dev/full");
  ASSERT_TRUE(file.ok());
  const Status status = file->Write("abc");
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_EQ(status.message(), "cannot write '/dev/full': No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(OutputFileTest, SaysWhyItCannotBeCreated) {
  const Result<OutputFile> file = OutputFile::Create(Path("no/such/folder"));
  EXPECT_EQ(file.status().code(), ErrorCode::kIo);
  EXPECT_NE(file.status().message().find("no/such/folder': No such file"), std::string::npos)
      << file.status().message();
}

}  // namespace
}  // namespace skald::cli
