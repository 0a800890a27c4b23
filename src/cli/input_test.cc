#include "cli/input.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace skald::cli {
namespace {

TEST(WithoutFinalNewline, TakesOneAway) {
  EXPECT_EQ(WithoutFinalNewline(""), "");
  EXPECT_EQ(WithoutFinalNewline("a"), "a");
  EXPECT_EQ(WithoutFinalNewline("a\n"), "a");
  EXPECT_EQ(WithoutFinalNewline("a\r\n"), "a");
  EXPECT_EQ(WithoutFinalNewline("a\n\n"), "a\n");
  EXPECT_EQ(WithoutFinalNewline("\n"), "");
  EXPECT_EQ(WithoutFinalNewline("a\r"), "a\r");
}

TEST(ReadInput, GivesAllBytesOfAFile) {
  const std::string path = ::testing::TempDir() + "skald_input_test";
  const std::string bytes = std::string("a\0\xFF\n", 4) + std::string(200000, 'x');
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(*ReadInput(path), bytes);
}

TEST(ReadInput, SaysWhichFileAndWhy) {
  const Result<std::string> missing = ReadInput("/nonexistent/prompt.txt");
  EXPECT_EQ(missing.status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(missing.status().message(), "/nonexistent/prompt.txt: No such file or directory");
  const Result<std::string> directory = ReadInput(::testing::TempDir());
  EXPECT_EQ(directory.status().code(), ErrorCode::kIo);
}

TEST(ReadInput, StopsAtAnEndlessDevice) {
  EXPECT_EQ(ReadInput("/dev/zero").status().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace skald::cli
