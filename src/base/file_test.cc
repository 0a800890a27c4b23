#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace skald {
namespace {

// A folder of its own for each test, gone afterwards.
class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "skald-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }

  static void ExpectError(const std::string& path, ErrorCode code, const std::string& part) {
    const auto file = File::Open(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.status().code(), code) << file.status().message();
    EXPECT_TRUE(file.status().message().starts_with(path + ": ")) << file.status().message();
    EXPECT_NE(file.status().message().find(part), std::string::npos) << file.status().message();
  }

  std::filesystem::path folder_;
};

std::string ReadText(const ByteSource& source, uint64_t offset, size_t count) {
  std::vector<std::byte> bytes(count);
  const Status status = source.ReadAt(offset, bytes);
  if (!status.ok()) return "error: " + status.message();
  return std::string(reinterpret_cast<const char*>(bytes.data()), count);
}

TEST_F(FileTest, ReadsAnyRangeOfARegularFile) {
  const auto file = File::Open(Write("a", "0123456789"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(file->name(), Path("a"));
  EXPECT_EQ(ReadText(*file, 0, 10), "0123456789");
  EXPECT_EQ(ReadText(*file, 9, 1), "9");
  EXPECT_EQ(ReadText(*file, 10, 0), "");
}

TEST_F(FileTest, RangesBeyondTheEndAreErrorsWithTheNumbers) {
  const auto file = File::Open(Write("a", "0123456789"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(ReadText(*file, 9, 2), "error: expected 2 bytes at offset 9 of a file of 10 bytes");
  EXPECT_NE(ReadText(*file, UINT64_MAX, 2).find("error"), std::string::npos);
}

TEST_F(FileTest, EmptyFileOpensAndHoldsNothing) {
  const auto file = File::Open(Write("a", ""));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 0u);
}

// A mapped file would kill the process here.
TEST_F(FileTest, FileThatShrinksAfterOpeningIsAnError) {
  const std::string path = Write("a", std::string(10000, 'x'));
  const auto file = File::Open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(path.c_str(), 4096), 0);
  EXPECT_EQ(ReadText(*file, 4000, 96), std::string(96, 'x'));
  EXPECT_EQ(ReadText(*file, 4000, 1000),
            "error: the file shrank while it was read: expected 1000 bytes at offset 4000, got 96");
  EXPECT_EQ(ReadText(*file, 5000, 10),
            "error: the file shrank while it was read: expected 10 bytes at offset 5000, got 0");
}

TEST_F(FileTest, ContentAddedAfterOpeningIsNotSeen) {
  const std::string path = Write("a", "1234");
  const auto file = File::Open(path);
  ASSERT_TRUE(file.ok());
  std::ofstream(path, std::ios::app) << "5678";
  EXPECT_EQ(file->size(), 4u);
  EXPECT_NE(ReadText(*file, 4, 1).find("error"), std::string::npos);
}

TEST_F(FileTest, MissingFilesAreNotFound) {
  ExpectError(Path("missing"), ErrorCode::kNotFound, "No such file");
  Write("a", "");
  ExpectError(Path("a/b"), ErrorCode::kNotFound, "Not a directory");
  ExpectError("", ErrorCode::kNotFound, "No such file");
}

TEST_F(FileTest, EverythingButARegularFileIsRefusedWithoutBlocking) {
  const auto begin = std::chrono::steady_clock::now();
  ExpectError(folder_.string(), ErrorCode::kIo, "is a directory");
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  ExpectError(Path("fifo"), ErrorCode::kIo, "is a FIFO");
  ExpectError("/dev/zero", ErrorCode::kIo, "is a device");
  std::filesystem::create_symlink("loop", folder_ / "loop");
  ExpectError(Path("loop"), ErrorCode::kIo, "symbolic links");
  ExpectError(Path(std::string(300, 'n')), ErrorCode::kIo, "name too long");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_F(FileTest, SymbolicLinkToARegularFileIsFollowed) {
  Write("a", "text");
  std::filesystem::create_symlink("a", folder_ / "link");
  const auto file = File::Open(Path("link"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(ReadText(*file, 0, 4), "text");
}

TEST_F(FileTest, MoveKeepsTheFileOpenOnce) {
  auto opened = File::Open(Write("a", "text"));
  ASSERT_TRUE(opened.ok());
  File first = *std::move(opened);
  File second = std::move(first);
  EXPECT_EQ(ReadText(second, 0, 4), "text");
  auto other = File::Open(Write("b", "more"));
  ASSERT_TRUE(other.ok());
  second = *std::move(other);
  EXPECT_EQ(ReadText(second, 0, 4), "more");
  second.DropFromCache(0, second.size());
  EXPECT_EQ(ReadText(second, 0, 4), "more");
}

TEST(MemorySource, ReadsRangesAndRefusesWhatIsOutside) {
  const MemorySource source({std::byte{'a'}, std::byte{'b'}, std::byte{'c'}}, "literal");
  EXPECT_EQ(source.size(), 3u);
  EXPECT_EQ(source.name(), "literal");
  EXPECT_EQ(ReadText(source, 1, 2), "bc");
  EXPECT_EQ(ReadText(source, 3, 0), "");
  EXPECT_EQ(ReadText(source, 2, 2), "error: expected 2 bytes at offset 2, got 1");
  EXPECT_EQ(ReadText(source, UINT64_MAX, 1),
            "error: expected 1 bytes at offset 18446744073709551615, got 0");
}

}  // namespace
}  // namespace skald
