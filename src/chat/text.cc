#include "chat/text.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace skald::chat {

Text::Rep::Rep(Budget* owner, std::string text, std::vector<TextRange> ranges)
    : budget(owner), bytes(std::move(text)), from_template(std::move(ranges)) {}

Text::Rep::~Rep() {
  if (budget != nullptr) budget->Return(charged);
}

Text::Text(std::string bytes, Origin origin) {
  if (bytes.empty()) return;
  std::vector<TextRange> ranges;
  if (origin == Origin::kTemplate) ranges.push_back({0, bytes.size()});
  rep_ = std::make_shared<const Rep>(nullptr, std::move(bytes), std::move(ranges));
}

Origin Text::OriginAt(size_t at) const {
  const std::span<const TextRange> ranges = from_template();
  const auto range = std::partition_point(ranges.begin(), ranges.end(),
                                          [at](const TextRange& r) { return r.end <= at; });
  return range != ranges.end() && range->begin <= at ? Origin::kTemplate : Origin::kData;
}

TextBuilder::~TextBuilder() { budget_->Return(charged_); }

bool TextBuilder::Grow(size_t bytes) {
  if (!budget_->Take(static_cast<int64_t>(bytes))) return false;
  charged_ += static_cast<int64_t>(bytes);
  return true;
}

void TextBuilder::Mark(size_t begin, size_t end) {
  if (begin == end) return;
  if (!from_template_.empty() && from_template_.back().end == begin) {
    from_template_.back().end = end;
    return;
  }
  // A range is memory, too: alternating origins make one for each byte.
  if (Grow(sizeof(TextRange))) from_template_.push_back({begin, end});
}

void TextBuilder::Add(std::string_view bytes, Origin origin) {
  if (bytes.empty() || !Grow(bytes.size())) return;
  if (origin == Origin::kTemplate) Mark(bytes_.size(), bytes_.size() + bytes.size());
  bytes_ += bytes;
}

void TextBuilder::AddSlice(const Text& text, size_t begin, size_t end) {
  if (begin >= end || !Grow(end - begin)) return;
  const std::span<const TextRange> ranges = text.from_template();
  auto range = std::partition_point(ranges.begin(), ranges.end(),
                                    [begin](const TextRange& r) { return r.end <= begin; });
  for (; range != ranges.end() && range->begin < end; ++range) {
    Mark(bytes_.size() + std::max(range->begin, begin) - begin,
         bytes_.size() + std::min(range->end, end) - begin);
  }
  bytes_ += text.bytes().substr(begin, end - begin);
}

Text TextBuilder::Take(Markup markup) {
  if (bytes_.empty() && markup == Markup::kNo) return Text();
  Grow(sizeof(Text::Rep));  // of many small texts that is most of the memory
  auto rep = std::make_shared<Text::Rep>(budget_, std::move(bytes_), std::move(from_template_));
  rep->markup = markup;
  rep->charged = charged_;
  bytes_.clear();
  from_template_.clear();
  charged_ = 0;
  return Text(std::move(rep));
}

Text Slice(Budget& budget, const Text& text, size_t begin, size_t end) {
  if (begin == 0 && end == text.size()) return text;
  TextBuilder builder(budget);
  builder.AddSlice(text, begin, end);
  return builder.Take(text.is_markup() ? Markup::kYes : Markup::kNo);
}

Text Concatenate(Budget& budget, const Text& left, const Text& right) {
  const bool markup = left.is_markup() || right.is_markup();
  if (!markup && left.empty()) return right;
  if (!markup && right.empty()) return left;
  TextBuilder builder(budget);
  builder.Add(markup ? Escape(budget, left) : left);
  builder.Add(markup ? Escape(budget, right) : right);
  return builder.Take(markup ? Markup::kYes : Markup::kNo);
}

Text Escape(Budget& budget, const Text& text) {
  if (text.is_markup()) return text;
  TextBuilder builder(budget);
  const std::string_view bytes = text.bytes();
  size_t plain = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string_view entity;
    switch (bytes[at]) {
      case '&': entity = "&amp;"; break;
      case '<': entity = "&lt;"; break;
      case '>': entity = "&gt;"; break;
      case '"': entity = "&#34;"; break;
      case '\'': entity = "&#39;"; break;
      default: continue;
    }
    builder.AddSlice(text, plain, at);
    builder.Add(entity, text.OriginAt(at));
    plain = at + 1;
  }
  builder.AddSlice(text, plain, bytes.size());
  return builder.Take(Markup::kYes);
}

bool Characters::Next() {
  begin_ = end_;
  if (begin_ >= text_.size()) return false;
  const auto first = static_cast<uint8_t>(text_[begin_]);
  if (first < 0x80) {
    end_ = begin_ + 1;
    code_point_ = first;
    return true;
  }
  const Utf8Sequence sequence = ReadUtf8(text_.substr(begin_));
  const bool whole = sequence.kind == Utf8Sequence::Kind::kWellFormed;
  end_ = begin_ + (whole ? static_cast<size_t>(sequence.length) : 1);
  // An ill-formed byte is a character that is no letter and no space.
  code_point_ = whole ? static_cast<char32_t>(sequence.code_point) : char32_t{0xFFFD};
  return true;
}

std::string Quoted(std::string_view text) {
  std::string quoted(1, '\'');
  quoted.append(text).push_back('\'');
  return quoted;
}

int64_t CharacterCount(std::string_view text) {
  int64_t count = 0;
  for (Characters characters(text); characters.Next();) ++count;
  return count;
}

std::vector<size_t> CharacterOffsets(std::string_view text) {
  std::vector<size_t> offsets;
  offsets.reserve(text.size() + 1);
  for (Characters characters(text); characters.Next();) offsets.push_back(characters.begin());
  offsets.push_back(text.size());
  return offsets;
}

bool IsSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

size_t Find(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  // The C library's search is linear in the worst case, string_view::find is not.
  const void* found = memmem(text.data() + from, text.size() - from, needle.data(), needle.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace skald::chat
