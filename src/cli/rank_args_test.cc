#include "cli/rank_args.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace skald::cli {
namespace {

namespace fs = std::filesystem;

// A file with such text in it. Tests run at the same time, each in a process of its own.
std::string FileWith(const std::string& text) {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const fs::path path = fs::path(testing::TempDir()) / ("skald_rank_key_" + test);
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

TEST(RankKey, IsWhatTheFileHasWithoutItsLastEnd) {
  EXPECT_EQ(*ReadRankKey(FileWith("0123456789abcdef")), "0123456789abcdef");
  EXPECT_EQ(*ReadRankKey(FileWith("0123456789abcdef\r\n\n")), "0123456789abcdef");
  EXPECT_EQ(*ReadRankKey(FileWith(" two words of a key ")), " two words of a key ");
}

TEST(RankKey, RefusesWhatCanBeGuessed) {
  const std::string file = FileWith("hunter2\n");
  const Status guessed = ReadRankKey(file).status();
  EXPECT_EQ(guessed.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(guessed.message(),
            file + ": the key has 7 bytes, expected 16 or more (openssl rand -hex 32)");
  EXPECT_EQ(ReadRankKey(std::nullopt).status().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(ReadRankKey(file + ".none").status().code(), ErrorCode::kNotFound);
}

TEST(MeetRanks, RefusesFlagsThatDoNotGoTogether) {
  Console console(Terminals{});
  EXPECT_EQ(*MeetRanks({}, console), nullptr);
  EXPECT_EQ(MeetRanks({.listen = "127.0.0.1:0"}, console).status().message(),
            "--rank-listen needs --ranks N, with all machines and this one counted");
  EXPECT_EQ(MeetRanks({.count = 2, .listen = "127.0.0.1:0"}, console).status().message(),
            "ranks of several machines need a key that they share (--rank-key FILE)");
  const std::string key = FileWith("0123456789abcdef");
  EXPECT_EQ(MeetRanks({.count = 2, .key_file = key}, console).status().message(),
            "--rank-key is of ranks that come from other machines (--rank-listen HOST:PORT)");
  EXPECT_EQ(MeetRanks({.count = 2, .listen = "here", .key_file = key}, console).status().code(),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace skald::cli
