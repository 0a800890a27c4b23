#include "chat/text.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace skald::chat {

namespace {

// Reads all bytes, not up to the first that is not ASCII: that is ten times as fast.
bool IsAscii(std::string_view text) {
  uint8_t all = 0;
  for (const char c : text) all |= static_cast<uint8_t>(c);
  return all < 0x80;
}

}  // namespace

Text::Rep::Rep(Budget* owner, std::string text, std::vector<TextRange> ranges)
    : budget(owner),
      bytes(std::move(text)),
      from_template(std::move(ranges)),
      ascii(IsAscii(bytes)) {}

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
  // Of many small texts this is most of the memory, with what the allocator and sharing add; longer
  // ones have one or two blocks more.
  constexpr size_t kSharedBytes = 32;
  constexpr size_t kBlockBytes = 16;
  Grow(sizeof(Text::Rep) + kSharedBytes + (bytes_.size() < kBlockBytes ? 0 : 2 * kBlockBytes));
  if (bytes_.capacity() > bytes_.size() + bytes_.size() / 4) bytes_.shrink_to_fit();
  if (from_template_.capacity() > 2 * from_template_.size()) from_template_.shrink_to_fit();
  auto rep = std::make_shared<Text::Rep>(budget_, std::move(bytes_), std::move(from_template_));
  rep->markup = markup;
  rep->charged = charged_;
  bytes_.clear();
  from_template_.clear();
  charged_ = 0;
  return Text(std::move(rep));
}

Text MakeText(Budget& budget, std::string_view bytes, Origin origin) {
  TextBuilder builder(budget);
  builder.Add(bytes, origin);
  return builder.Take();
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

size_t LastCharacter(std::string_view text) {
  // A character has four bytes at most; only its first is no continuation byte, so what is
  // well-formed up to the end is what Characters finds there, too.
  for (size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    const size_t begin = text.size() - length;
    if ((static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) continue;
    const Utf8Sequence sequence = ReadUtf8(text.substr(begin));
    const bool whole = sequence.kind == Utf8Sequence::Kind::kWellFormed &&
                       static_cast<size_t>(sequence.length) == length;
    return whole ? begin : text.size() - 1;
  }
  return text.size() - 1;
}

namespace {

constexpr int64_t kMarkEvery = 256;

}  // namespace

bool CharacterIndex::Prepare(Budget& budget, const Text& text) {
  if (text_.Shares(text)) return true;
  if (!budget.Read(text.size())) return false;
  text_ = text;
  marks_.clear();
  count_ = 0;
  for (Characters characters(text.bytes()); characters.Next(); ++count_)
    if (count_ % kMarkEvery == 0) marks_.push_back(characters.begin());
  return true;
}

int64_t CharacterIndex::Count(Budget& budget, const Text& text) {
  if (text.is_ascii()) return static_cast<int64_t>(text.size());
  return Prepare(budget, text) ? count_ : 0;
}

size_t CharacterIndex::Offset(Budget& budget, const Text& text, int64_t at) {
  if (text.is_ascii()) return std::min(text.size(), static_cast<size_t>(at));
  size_t from = 0;
  int64_t steps = at;
  if (at >= kMarkEvery) {
    if (!Prepare(budget, text)) return 0;
    if (at >= count_) return text.size();
    from = marks_[static_cast<size_t>(at / kMarkEvery)];
    steps = at % kMarkEvery;
  }
  budget.Read(static_cast<size_t>(steps));
  Characters characters(text.bytes().substr(from));
  while (steps-- > 0 && characters.Next()) {
  }
  return from + characters.end();
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMaxBytes = 100;
  std::string quoted(1, '\'');
  quoted.append(text.substr(0, kMaxBytes));
  if (text.size() > kMaxBytes) quoted += "...";
  quoted += '\'';
  return quoted;
}

bool IsSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

}  // namespace skald::chat
