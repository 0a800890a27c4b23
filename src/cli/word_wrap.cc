#include "cli/word_wrap.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/utf8.h"
#include "cli/utf8.h"

namespace skald::cli {

namespace {

constexpr int kColumnsMin = 8;
constexpr int kTabStop = 8;
constexpr uint32_t kZeroWidthJoiner = 0x200D;

// What must not begin a line (JIS X 4051, closing brackets, commas, small kana and the like).
constexpr std::u32string_view kNoLineStart =
    U"\u3001\u3002\u3005\u3009\u300B\u300D\u300F\u3011\u3015\u3017\u30FB\u30FC\u3041\u3043\u3045"
    U"\u3047\u3049\u3063\u3083\u3085\u3087\u30A1\u30A3\u30A5\u30A7\u30A9\u30C3\u30E3\u30E5\u30E7"
    U"\uFF01\uFF09\uFF0C\uFF0E\uFF1A\uFF1B\uFF1F\uFF3D\uFF5D";

bool IsSkinTone(uint32_t code_point) { return code_point >= 0x1F3FB && code_point <= 0x1F3FF; }

}  // namespace

std::string WordWrap::Add(std::string_view text, int columns) {
  if (columns < kColumnsMin) return std::string(text);
  if (columns - 1 != limit_) {
    // The terminal has moved what stands on it; what is shown of a word cannot be found again.
    limit_ = columns - 1;
    column_ = column_ % columns;
    word_.clear();
    word_width_ = 0;
  }
  while (!text.empty()) {
    const Utf8Sequence sequence = ReadUtf8(text);
    const std::string_view character = text.substr(0, static_cast<size_t>(sequence.length));
    text.remove_prefix(character.size());
    const uint32_t code_point = sequence.code_point;
    const int width = CharacterWidth(code_point);
    if (code_point == '\n') {
      EndLine();
    } else if (code_point == ' ' || code_point == '\t') {
      AddSpace(character, code_point == '\t' ? kTabStop - column_ % kTabStop : 1);
    } else if (width == 0 || joined_ || IsSkinTone(code_point)) {
      out_ += character;
      word_ += character;
    } else {
      const bool sticks =
          kNoLineStart.find(static_cast<char32_t>(code_point)) != std::u32string_view::npos;
      if (!sticks && (width == 2 || wide_)) {
        word_.clear();
        word_width_ = 0;
      }
      wide_ = width == 2;
      AddToWord(character, width);
    }
    joined_ = code_point == kZeroWidthJoiner;
  }
  return std::exchange(out_, {});
}

void WordWrap::AddSpace(std::string_view character, int width) {
  word_.clear();
  word_width_ = 0;
  if (column_ + width > limit_) {
    line_ended_ = true;
    return;
  }
  out_ += character;
  column_ += width;
}

void WordWrap::AddToWord(std::string_view character, int width) {
  if (line_ended_) EndLine();
  if (column_ + width > limit_) {
    // A word longer than a line is cut where the line ends.
    const bool moves = word_width_ < column_ && word_width_ + width <= limit_;
    const std::string word = moves ? std::exchange(word_, {}) : std::string();
    const int word_width = moves ? word_width_ : 0;
    if (word_width > 0) out_ += fmt::format("\x1b[{}D\x1b[K", word_width);
    EndLine();
    out_ += word;
    word_ = word;
    word_width_ = word_width;
    column_ = word_width;
  }
  out_ += character;
  word_ += character;
  word_width_ += width;
  column_ += width;
}

void WordWrap::EndLine() {
  out_ += '\n';
  column_ = 0;
  line_ended_ = false;
  word_.clear();
  word_width_ = 0;
}

}  // namespace skald::cli
