/// SourceText: the text of an expression or grammar, read character by character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skald/status.h"

namespace skald::grammar {

/// A place in a text of well-formed UTF-8.
class SourceText {
 public:
  /// Errors: kInvalidArgument with the place if `text` is longer than `bytes_max` or not UTF-8.
  static Result<SourceText> Create(std::string_view text, size_t bytes_max);

  bool AtEnd() const { return at_ == text_.size(); }
  size_t at() const { return at_; }

  /// The next character; 0 at the end. (U+0000 in a text is told from the end by AtEnd.)
  char32_t Peek() const;
  char32_t Take();
  /// The byte `ahead` behind the next one; 0 behind the end.
  char PeekByte(size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  /// Takes `word` if it stands next.
  bool TakeIf(std::string_view word);

  /// Exactly `count` hexadecimal digits, else nothing and the place is unchanged.
  std::optional<uint32_t> TakeHex(int count);
  /// A decimal number of one digit and more; one above `max` is max + 1. Else nothing.
  std::optional<uint32_t> TakeNumber(uint32_t max);

  /// "PROBLEM at byte N", where the reader stands.
  Status Error(std::string_view problem) const { return ErrorAt(at_, problem); }
  static Status ErrorAt(size_t at, std::string_view problem);

 private:
  explicit SourceText(std::string_view text) : text_(text) {}

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace skald::grammar
