#include "cli/word_wrap.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "cli/environment.h"
#include "cli/utf8.h"

namespace skald::cli {
namespace {

// What stands on a terminal that obeys newline, CUB and EL, line by line.
class Screen {
 public:
  explicit Screen(int columns) : columns_(columns) {}

  void Write(std::string_view text) {
    while (!text.empty()) {
      if (text.starts_with("\x1b[K")) {
        lines_.back().resize(static_cast<size_t>(column_));
        text.remove_prefix(3);
      } else if (text.starts_with("\x1b[")) {
        column_ -= std::stoi(std::string(text.substr(2)));
        text.remove_prefix(text.find('D') + 1);
      } else {
        const Utf8Sequence sequence = ReadUtf8(text);
        Put(text.substr(0, static_cast<size_t>(sequence.length)), sequence.code_point);
        text.remove_prefix(static_cast<size_t>(sequence.length));
      }
    }
  }

  std::vector<std::string> Lines() const {
    std::vector<std::string> texts;
    for (const auto& line : lines_) {
      std::string text;
      for (const std::string& cell : line) text += cell;
      texts.push_back(text);
    }
    return texts;
  }

 private:
  // A cell holds a character and what combines with it; the second of a wide character is empty.
  void Put(std::string_view character, uint32_t code_point) {
    if (code_point == '\n') {
      lines_.emplace_back();
      column_ = 0;
      return;
    }
    // Joined characters are one, as terminals show them that know of such.
    const bool is_part = joined_ || (code_point >= 0x1F3FB && code_point <= 0x1F3FF);
    joined_ = code_point == 0x200D;
    const int width = is_part ? 0 : CharacterWidth(code_point);
    auto& line = lines_.back();
    if (width == 0) {
      size_t last = static_cast<size_t>(column_) - 1;
      while (line[last].empty()) --last;
      line[last] += character;
      return;
    }
    ASSERT_LT(column_ + width, columns_ + 1) << "a line reached the last column";
    ASSERT_EQ(line.size(), static_cast<size_t>(column_));
    line.emplace_back(character);
    if (width == 2) line.emplace_back();
    column_ += width;
  }

  int columns_;
  int column_ = 0;
  bool joined_ = false;
  std::vector<std::vector<std::string>> lines_{1};
};

class WordWrapTest : public ::testing::Test {
 protected:
  void SetUp() override { UseUtf8Locale(); }

  // The lines that `text` makes on a terminal of `columns`, whatever pieces it comes in.
  std::vector<std::string> Lines(const std::string& text, int columns) {
    Screen whole(columns);
    WordWrap wrap;
    whole.Write(wrap.Add(text, columns));
    Screen pieces(columns);
    WordWrap piecewise;
    for (std::string_view rest = text; !rest.empty();) {
      const auto length = static_cast<size_t>(ReadUtf8(rest).length);
      pieces.Write(piecewise.Add(rest.substr(0, length), columns));
      rest.remove_prefix(length);
    }
    EXPECT_EQ(whole.Lines(), pieces.Lines());
    return whole.Lines();
  }

  using Texts = std::vector<std::string>;
};

TEST_F(WordWrapTest, EndsLinesBetweenWords) {
  EXPECT_EQ(Lines("the quick brown fox", 11), (Texts{"the quick ", "brown fox"}));
  EXPECT_EQ(Lines("the quick brown fox", 10), (Texts{"the quick", "brown fox"}));
  EXPECT_EQ(Lines("the quick brown fox", 9), (Texts{"the ", "quick ", "brown ", "fox"}));
  EXPECT_EQ(Lines("one\ntwo\n\nthree", 20), (Texts{"one", "two", "", "three"}));
}

TEST_F(WordWrapTest, CutsAWordOnlyIfItIsLongerThanALine) {
  // First shown behind "a ", then moved, then too long for any line.
  EXPECT_EQ(Lines("a supercalifragilistic word", 11),
            (Texts{"a ", "supercalif", "ragilistic", "word"}));
}

TEST_F(WordWrapTest, MeasuresColumnsNotBytes) {
  EXPECT_EQ(Lines("größer müßte äöü", 17), (Texts{"größer müßte äöü"}));
  EXPECT_EQ(Lines("größer müßte äöüß", 17), (Texts{"größer müßte ", "äöüß"}));
  // Combining marks take no column.
  EXPECT_EQ(Lines("cafe\u0301 au lait", 13), (Texts{"cafe\u0301 au lait"}));
}

TEST_F(WordWrapTest, EndsLinesBetweenWideCharactersButNotBeforeClosingPunctuation) {
  EXPECT_EQ(Lines("日本語の文章です", 11), (Texts{"日本語の文", "章です"}));
  EXPECT_EQ(Lines("日本語の文。章", 11), (Texts{"日本語の", "文。章"}));
  EXPECT_EQ(Lines("日本語 fox 日本語", 12), (Texts{"日本語 fox ", "日本語"}));
}

TEST_F(WordWrapTest, KeepsWhatBelongsToAnEmojiTogether) {
  EXPECT_EQ(Lines("12345678🦊", 10), (Texts{"12345678", "🦊"}));
  EXPECT_EQ(Lines("1234567👍🏽", 10), (Texts{"1234567👍🏽"}));
  EXPECT_EQ(Lines("1234567👩\u200D🚀", 10), (Texts{"1234567👩\u200D🚀"}));
}

TEST_F(WordWrapTest, DropsSpacesWhereALineEnds) {
  EXPECT_EQ(Lines("123456789   x", 10), (Texts{"123456789", "x"}));
  EXPECT_EQ(Lines("123456789 \nx", 10), (Texts{"123456789", "x"}));
  EXPECT_EQ(Lines("a\tb", 20), (Texts{"a\tb"}));
}

TEST_F(WordWrapTest, FollowsATerminalThatChangesItsWidth) {
  WordWrap wrap;
  EXPECT_EQ(wrap.Add("some words", 40), "some words");
  // What stood there may have moved: only what came since is wiped away.
  EXPECT_EQ(wrap.Add("worthy of more", 12), "w\x1b[1D\x1b[K\nworthy of m\x1b[1D\x1b[K\nmore");
  EXPECT_EQ(wrap.Add("left as it is, always", 7), "left as it is, always");
}

}  // namespace
}  // namespace skald::cli
