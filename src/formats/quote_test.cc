#include "formats/quote.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::formats {
namespace {

TEST(Quote, LeavesPrintableAsciiAsItIs) {
  EXPECT_EQ(Quote("blk.0.attn_q.weight"), "'blk.0.attn_q.weight'");
  EXPECT_EQ(Quote(""), "''");
  EXPECT_EQ(Quote(" ~"), "' ~'");
}

TEST(Quote, EscapesWhatCouldBreakALineOrATerminal) {
  EXPECT_EQ(Quote("a\nb\tc"), "'a\\nb\\tc'");
  EXPECT_EQ(Quote("\x1b[2J"), "'\\x1b[2J'");
  EXPECT_EQ(Quote(std::string("a\0b", 3)), "'a\\x00b'");
  EXPECT_EQ(Quote("\xff\x7f"), "'\\xff\\x7f'");
  EXPECT_EQ(Quote("it's \\"), "'it\\'s \\\\'");
}

TEST(Quote, CutsLongText) {
  EXPECT_EQ(Quote("abc", 3), "'abc'");
  EXPECT_EQ(Quote("abcd", 3), "'abc'...");
  EXPECT_LT(Quote(std::string(1 << 20, 'x')).size(), 100u);
}

}  // namespace
}  // namespace skald::formats
