#include "grammar/source_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace skald::grammar {

namespace {

std::optional<uint32_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint32_t>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

Result<SourceText> SourceText::Create(std::string_view text, size_t bytes_max) {
  if (text.size() > bytes_max)
    return Status(ErrorCode::kInvalidArgument, "has " + std::to_string(text.size()) +
                                                   " bytes, at most " + std::to_string(bytes_max));
  const size_t good = WellFormedPrefix(text);
  if (good < text.size()) return ErrorAt(good, "no UTF-8");
  return SourceText(text);
}

char32_t SourceText::Peek() const {
  return AtEnd() ? 0 : static_cast<char32_t>(ReadUtf8(text_.substr(at_)).code_point);
}

char32_t SourceText::Take() {
  if (AtEnd()) return 0;
  const Utf8Sequence sequence = ReadUtf8(text_.substr(at_));
  at_ += static_cast<size_t>(sequence.length);
  return sequence.code_point;
}

bool SourceText::TakeIf(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

std::optional<uint32_t> SourceText::TakeHex(int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) {
    const std::optional<uint32_t> digit = HexDigit(PeekByte(static_cast<size_t>(i)));
    if (!digit.has_value()) return std::nullopt;
    value = value * 16 + *digit;
  }
  at_ += static_cast<size_t>(count);
  return value;
}

std::optional<uint32_t> SourceText::TakeNumber(uint32_t max) {
  const size_t begin = at_;
  uint64_t value = 0;
  for (; PeekByte(0) >= '0' && PeekByte(0) <= '9'; ++at_)
    value = std::min(value * 10 + static_cast<uint64_t>(PeekByte(0) - '0'), uint64_t{max} + 1);
  if (at_ == begin) return std::nullopt;
  return static_cast<uint32_t>(value);
}

Status SourceText::ErrorAt(size_t at, std::string_view problem) {
  return Status(ErrorCode::kInvalidArgument,
                std::string(problem) + " at byte " + std::to_string(at));
}

}  // namespace skald::grammar
