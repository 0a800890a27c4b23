#include "cli/grammar_command.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace skald::cli {
namespace {

std::string Line(std::string_view regex, std::string_view text) {
  const Result<Grammar> grammar = Grammar::FromRegex(regex);
  EXPECT_TRUE(grammar.ok());
  return VerdictLine(CheckText(*grammar, text), text);
}

TEST(GrammarCommand, LinesSayWhatMayFollow) {
  EXPECT_EQ(Line("yes", "yes"), "accepted; next: the end only");
  EXPECT_EQ(Line("a+", "aa"), "accepted; next: a, or the end");
  EXPECT_EQ(Line("a[0-9f]", "a"), "incomplete after 1 bytes; next: 0-9 f");
  EXPECT_EQ(Line("a[ab] \\n", "aa"), "incomplete after 2 bytes; next: space");
  EXPECT_EQ(Line("a\\n", "a"), "incomplete after 1 bytes; next: \\n");
}

TEST(GrammarCommand, LinesNameTheByteThatIsWrong) {
  EXPECT_EQ(Line("ab?", "ax"), "dead at byte 1 (x); possible: b, or the end");
  EXPECT_EQ(Line("ab?", "abc"), "dead at byte 2 (c); possible: the end only");
  EXPECT_EQ(Line("[ab]", "\xC3\xA9"), "dead at byte 0 (\\xc3); possible: a b");
}

}  // namespace
}  // namespace skald::cli
