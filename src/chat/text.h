/// Text: a string of a template that remembers which of its bytes the template wrote.
///
/// This is how user text never becomes a control token: a byte counts as the template's only if it
/// stands in the template's source (or is the model's own BOS or EOS). Everything else, computed
/// numbers and JSON included, is data, and no operation turns data into template: they all build
/// their results with a TextBuilder, which takes each piece with its origin.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/budget.h"
#include "skald/tokenizer.h"

namespace skald::chat {

/// Who wrote a piece of text.
enum class Origin : uint8_t { kTemplate, kData };

/// Whether "+" escapes HTML in what is added: the result of the filter "safe" (Python's Markup).
enum class Markup : uint8_t { kNo, kYes };

/// Immutable; a copy costs a reference count.
class Text {
 public:
  /// The empty text.
  Text() = default;
  /// A text that belongs to the template or to nobody: counted by no budget.
  Text(std::string bytes, Origin origin);

  std::string_view bytes() const { return rep_ ? std::string_view(rep_->bytes) : ""; }
  size_t size() const { return rep_ ? rep_->bytes.size() : 0; }
  bool empty() const { return size() == 0; }
  /// Ascending, disjoint, not adjacent, not empty.
  std::span<const TextRange> from_template() const {
    return rep_ ? std::span<const TextRange>(rep_->from_template) : std::span<const TextRange>();
  }
  /// Who wrote the byte at `at`. O(log n) of the ranges.
  Origin OriginAt(size_t at) const;
  bool is_markup() const { return rep_ && rep_->markup == Markup::kYes; }

 private:
  friend class TextBuilder;
  struct Rep {
    Rep(Budget* owner, std::string text, std::vector<TextRange> ranges);
    ~Rep();
    Rep(const Rep&) = delete;
    Rep& operator=(const Rep&) = delete;

    Budget* budget;  // gets `charged` back; null for texts of the source
    std::string bytes;
    std::vector<TextRange> from_template;
    Markup markup = Markup::kNo;
    int64_t charged = 0;
  };
  explicit Text(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  std::shared_ptr<const Rep> rep_;
};

/// Makes a text piece by piece. When the budget is passed it stops growing; the evaluator sees that
/// and fails.
class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget) : budget_(&budget) {}
  ~TextBuilder();
  TextBuilder(const TextBuilder&) = delete;
  TextBuilder& operator=(const TextBuilder&) = delete;

  void Add(std::string_view bytes, Origin origin);
  void Add(const Text& text) { AddSlice(text, 0, text.size()); }
  /// Bytes [begin, end) of `text`, which are inside it.
  void AddSlice(const Text& text, size_t begin, size_t end);

  size_t size() const { return bytes_.size(); }
  /// The text. The builder is empty afterwards.
  Text Take(Markup markup = Markup::kNo);

 private:
  bool Grow(size_t bytes);
  void Mark(size_t begin, size_t end);

  Budget* budget_;
  std::string bytes_;
  std::vector<TextRange> from_template_;
  int64_t charged_ = 0;
};

/// Bytes [begin, end) of `text`, with their origin; the whole text costs nothing. Keeps Markup.
Text Slice(Budget& budget, const Text& text, size_t begin, size_t end);

/// "a" + "b" as Python does it: with Markup on one side the other one is escaped.
Text Concatenate(Budget& budget, const Text& left, const Text& right);

/// `text` with & < > " ' as HTML entities, each with the origin of its character, unless it is
/// Markup. The result is Markup.
Text Escape(Budget& budget, const Text& text);

/// Walks over the characters (code points) of a text; each byte of ill-formed UTF-8 is one.
class Characters {
 public:
  explicit Characters(std::string_view text) : text_(text) {}

  /// Steps to the next character; false at the end.
  bool Next();
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  char32_t code_point() const { return code_point_; }

 private:
  std::string_view text_;
  size_t begin_ = 0;
  size_t end_ = 0;
  char32_t code_point_ = 0;
};

/// 'text', for messages.
std::string Quoted(std::string_view text);

/// Number of characters.
int64_t CharacterCount(std::string_view text);
/// Byte offsets of the characters, and at the end the size of the text.
std::vector<size_t> CharacterOffsets(std::string_view text);
/// What Python's str.isspace says of a character.
bool IsSpace(char32_t c);
/// First place of `needle` in `text` at or after `from`, or npos. Linear time.
size_t Find(std::string_view text, std::string_view needle, size_t from);

}  // namespace skald::chat
