#include "grammar/alphabet.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "grammar/plain_states.h"
#include "skald/grammar.h"

namespace skald::grammar {
namespace {

TEST(Alphabet, ATextIsOfTheNarrowestOne) {
  struct Case {
    std::string_view text;
    Alphabet alphabet;
    uint32_t characters;
  };
  for (const Case& each :
       {Case{"abz", Alphabet::kLower, 3}, Case{"aZ", Alphabet::kLetters, 2},
        Case{"7", Alphabet::kAlnum, 1}, Case{"aZ09", Alphabet::kAlnum, 4},
        Case{" the", Alphabet::kLowerWords, 4}, Case{" ", Alphabet::kLowerWords, 1},
        Case{" The", Alphabet::kLetterWords, 4}, Case{"a 7", Alphabet::kAlnumWords, 3},
        Case{"a-b", Alphabet::kPlain, 3}, Case{"\xC3\xA9", Alphabet::kPlain, 1}}) {
    const std::optional<PlainText> plain = PlainTextOf(each.text);
    ASSERT_TRUE(plain.has_value()) << each.text;
    EXPECT_EQ(plain->alphabet, each.alphabet) << each.text;
    EXPECT_EQ(plain->characters, each.characters) << each.text;
  }
  for (const std::string_view none : {"", "a\"", "\\", "\n", "a\xC3", "\xED\xA0\x80"})
    EXPECT_FALSE(PlainTextOf(none).has_value()) << none;
}

// Room is that of the expression's own characters, and of no other alphabet.
TEST(Alphabet, AnExpressionHasRoomForTheAlphabetsThatItTakes) {
  const auto rooms = [](std::string_view regex) {
    const Result<Grammar> grammar = Grammar::FromRegex(regex);
    EXPECT_TRUE(grammar.ok());
    for (const Rule& rule : grammar->form().rules)
      if (const auto all = PlainRooms(rule, KeysLeft::kMany); !all.empty()) return all.front();
    return StateRoom{};
  };
  const auto takes = [](const StateRoom& room) {
    std::vector<bool> taken;
    for (const PlainRoom& each : room) taken.push_back(each.characters == PlainRoom::kEndless);
    return taken;
  };
  using Taken = std::vector<bool>;
  EXPECT_EQ(takes(rooms("[a-z]+")), Taken({true, false, false, false, false, false, false}));
  EXPECT_EQ(takes(rooms("[a-z ]+")), Taken({true, false, false, true, false, false, false}));
  EXPECT_EQ(takes(rooms("[A-Za-z ]+")), Taken({true, true, false, true, true, false, false}));
  EXPECT_EQ(takes(rooms("[A-Za-z0-9_]+")), Taken({true, true, true, false, false, false, false}));
  EXPECT_EQ(takes(rooms("[\\w\\s-]+")), Taken({true, true, true, true, true, true, false}));
  EXPECT_EQ(takes(rooms("[^\\n]+")), Taken({true, true, true, true, true, true, true}));
}

}  // namespace
}  // namespace skald::grammar
