/// For tests: a vocabulary of some 400 tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skald/constraint.h"

namespace skald::grammar {

/// All bytes, and pieces of texts as vocabularies have them: over the borders of JSON's tokens, and
/// not always whole characters. One is there twice, and two have no text.
class SmallVocabulary {
 public:
  SmallVocabulary() {
    for (int byte = 0; byte < 256; ++byte) tokens_.emplace_back(1, static_cast<char>(byte));
    for (const char* piece :
         {"{\"",   "\":",   "\": ",     "\",",      "\", \"",       "\"}",        "\"}]",
          "},",    "}}",    "]}",       "[[",       "[]",           "{}",         "true",
          "false", "null",  "tr",       "\n",       "\n  ",         "\n    ",     ",\n",
          ", ",    "10",    "2.5",      "-1",       "e+",           "00",         "name",
          "a",     "ab",    "abc",      "order",    "Id",           "\\u",        "\\ud",
          "\\\"",  "\xC3",  "\xC3\xA9", "\xE6\x97", "\xE6\x97\xA5", "\x97\xA5\"", " x",
          "\t\t",  "id\":", "na",       "me\"",     "e\":1",        "ab\",",      "a\"]"})
      tokens_.emplace_back(piece);
    // More white space than may stand together, and what ends it.
    for (const char* end : {"", "\"", "{", "]", "}", "1", "\n", ","}) {
      AddBlanks({1, ' '}, "", end);
      for (const size_t spaces : {3, 17, 31, 32, 33}) AddBlanks({spaces, ' '}, "\n", end);
      for (const size_t tabs : {7, 8, 9}) AddBlanks({tabs, '\t'}, "\n", end);
    }
    tokens_.emplace_back();
    tokens_.emplace_back("true");
    tokens_.emplace_back();
  }

  Vocabulary Make() const {
    const std::vector<std::string_view> views(tokens_.begin(), tokens_.end());
    return Vocabulary::FromBytes(views);
  }

 private:
  struct Blanks {
    size_t count;
    char blank;
  };

  void AddBlanks(const Blanks& blanks, std::string_view before, std::string_view behind) {
    std::string& token = tokens_.emplace_back(before);
    token.append(blanks.count, blanks.blank);
    token += behind;
  }

  std::vector<std::string> tokens_;
};

/// All bytes, and some 17,000 words of three letters: a mask of it may take long.
inline Vocabulary ManyWords() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (int i = 0; i < 26 * 26 * 26; ++i)
    tokens.push_back({static_cast<char>('a' + i / 676), static_cast<char>('a' + i / 26 % 26),
                      static_cast<char>('a' + i % 26)});
  return Vocabulary::FromBytes(std::vector<std::string_view>(tokens.begin(), tokens.end()));
}

}  // namespace skald::grammar
