/// WordWrap: text that comes in pieces, broken between words where the terminal's line ends.
#pragma once

#include <string>
#include <string_view>

namespace skald::cli {

/// A word is shown as it comes. If it turns out too long for its line, what is shown of it is wiped
/// away (ECMA-48: CUB, EL) and it begins the next line. Between characters of double width, which
/// East Asian scripts use, a line may end anywhere but before closing punctuation. The last column
/// stays free: a cursor behind it stands where each terminal thinks best.
class WordWrap {
 public:
  /// What to write for `text`, which holds whole characters and no control characters but newline
  /// and tab, on a terminal of `columns`, which may change from call to call. Under 8 columns text
  /// is left as it is.
  std::string Add(std::string_view text, int columns);

 private:
  void AddSpace(std::string_view character, int width);
  void AddToWord(std::string_view character, int width);
  void EndLine();

  std::string out_;
  std::string word_;    // what is shown of the word that has begun
  int word_width_ = 0;  // columns of word_
  int column_ = 0;      // of the cursor
  int limit_ = 0;       // columns in use of each line
  bool line_ended_ =
      false;             // a space stood where the line ends: a newline comes before the next word
  bool joined_ = false;  // U+200D came: the next character is part of this one
  bool wide_ = false;    // the word is a character of double width
};

}  // namespace skald::cli
