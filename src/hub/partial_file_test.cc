#include "hub/partial_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace skald::hub {
namespace {

namespace fs = std::filesystem;

class PartialFileTest : public testing::Test {
 protected:
  PartialFileTest() : folder_(testing::TempDir() + "/partial_file_" + TestName()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~PartialFileTest() override { fs::remove_all(folder_); }
  static std::string TestName() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  std::string Target() const { return folder_ + "/model"; }
  PartialFile Open(int64_t bytes, const std::string& tag) const {
    return *PartialFile::Open(Target(), {bytes, tag});
  }

  std::string folder_;
};

constexpr int64_t kMiB = int64_t{1} << 20;

TEST_F(PartialFileTest, IsCutIntoSegmentsThatCoverIt) {
  for (const int64_t bytes : {int64_t{1}, 16 * kMiB - 1, 16 * kMiB, 16 * kMiB + 1, 100 * kMiB}) {
    PartialFile file = Open(bytes, "t");
    int64_t end = 0;
    for (const Segment& segment : file.segments()) {
      EXPECT_EQ(segment.first, end);
      EXPECT_GT(segment.bytes, 0);
      end += segment.bytes;
    }
    EXPECT_EQ(end, bytes);
    file.Discard();
  }
}

TEST_F(PartialFileTest, IsGoneOnWith) {
  {
    PartialFile file = Open(20 * kMiB, "tag");
    ASSERT_TRUE(file.Append(file.segments()[1], "behind").ok());
    ASSERT_TRUE(file.Append(file.segments()[0], "front").ok());
    ASSERT_TRUE(file.Append(file.segments()[0], "!").ok());
    ASSERT_TRUE(file.Save().ok());
  }
  PartialFile file = Open(20 * kMiB, "tag");
  EXPECT_EQ(file.done_bytes(), 12);
  EXPECT_EQ(file.segments()[0].done, 6);
  EXPECT_EQ(file.segments()[1].done, 6);
}

TEST_F(PartialFileTest, OfAnotherFileIsBegunAnew) {
  const auto write = [&] {
    PartialFile file = Open(100, "tag");
    ASSERT_TRUE(file.Append(file.segments()[0], "front").ok());
    ASSERT_TRUE(file.Save().ok());
  };
  write();
  EXPECT_EQ(Open(100, "other").done_bytes(), 0);
  write();
  EXPECT_EQ(Open(101, "tag").done_bytes(), 0);
  write();
  EXPECT_EQ(Open(100, "").done_bytes(), 0) << "nothing says that it is the same file";
  write();
  EXPECT_EQ(Open(100, "tag").done_bytes(), 5);
}

TEST_F(PartialFileTest, ABrokenStateCountsAsNone) {
  const std::string good = "skald partial 1\n100\ntag\n5\nend\n";
  std::ofstream(Target() + ".partial") << std::string(50, 'x');
  std::vector<std::string> broken = {
      "skald partial 2\n100\ntag\n5\nend\n",   "skald partial 1\n100\ntag\n-5\nend\n",
      "skald partial 1\n100\ntag\n101\nend\n",
      "skald partial 1\n100\ntag\n51\nend\n",  // beyond the bytes
      "skald partial 1\n100\ntag\n5x\nend\n",  "skald partial 1\n100\ntag\n5\n5\nend\n"};
  for (size_t length = 0; length + 1 < good.size(); ++length)
    broken.push_back(good.substr(0, length));
  for (const std::string& state : broken) {
    std::ofstream(Target() + ".partial") << std::string(50, 'x');
    std::ofstream(Target() + ".partial.state") << state;
    EXPECT_EQ(Open(100, "tag").done_bytes(), 0) << state;
  }
  std::ofstream(Target() + ".partial") << std::string(50, 'x');
  std::ofstream(Target() + ".partial.state") << good;
  EXPECT_EQ(Open(100, "tag").done_bytes(), 5);
}

TEST_F(PartialFileTest, HashesAndNamesTheWhole) {
  PartialFile file = Open(3, "tag");
  ASSERT_TRUE(file.Append(file.segments()[0], "abc").ok());
  EXPECT_EQ(*file.Hash([](int64_t) { return true; }),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(file.Hash([](int64_t) { return false; }).status().code(), ErrorCode::kCancelled);
  ASSERT_TRUE(file.Save().ok());
  ASSERT_TRUE(file.Commit().ok());
  EXPECT_EQ(ReadSmallFile(Target(), 10), "abc");
  EXPECT_FALSE(fs::exists(Target() + ".partial"));
  EXPECT_FALSE(fs::exists(Target() + ".partial.state"));
}

TEST_F(PartialFileTest, ADiskWithoutRoomIsSaidBeforeAnythingIsFetched) {
  const Result<PartialFile> file = PartialFile::Open(Target(), {int64_t{1} << 50, "tag"});
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), ErrorCode::kResourceExhausted);
  EXPECT_NE(file.status().message().find("1073741824 MiB"), std::string::npos)
      << file.status().message();
}

TEST_F(PartialFileTest, OneLockAtATime) {
  std::optional<FileLock> lock = *FileLock::Take(Target(), nullptr);
  int asked = 0;
  EXPECT_EQ(FileLock::Take(Target(), [&] { return ++asked == 3; }).status().code(),
            ErrorCode::kCancelled);
  EXPECT_EQ(asked, 3);
  lock.reset();
  EXPECT_TRUE(FileLock::Take(Target(), nullptr).ok());
}

}  // namespace
}  // namespace skald::hub
