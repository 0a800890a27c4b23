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
  /// Whether each character is one byte.
  bool is_ascii() const { return !rep_ || rep_->ascii; }
  /// Whether both are the same text, not only equal: told at once.
  bool Shares(const Text& other) const { return rep_ == other.rep_; }

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
    bool ascii;
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

/// A text of its own, counted by the budget.
Text MakeText(Budget& budget, std::string_view bytes, Origin origin);

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

/// Where the last of the characters of `text`, which is not empty, begins: as Characters counts.
size_t LastCharacter(std::string_view text);

/// Finds characters of texts by their number. The text asked for last is kept with a mark at every
/// 256th character, so that a loop over the numbers costs a constant for each.
class CharacterIndex {
 public:
  /// Number of characters.
  int64_t Count(Budget& budget, const Text& text);
  /// Where character `at` begins, or the end of the text if there are not so many; `at` is not
  /// negative. 0 if the budget is passed.
  size_t Offset(Budget& budget, const Text& text, int64_t at);

 private:
  bool Prepare(Budget& budget, const Text& text);

  Text text_;
  std::vector<size_t> marks_;  // a fortieth of the text at most: not counted
  int64_t count_ = 0;
};

/// 'text', for messages: at most its first 100 bytes.
std::string Quoted(std::string_view text);

/// What Python's str.isspace says of a character.
bool IsSpace(char32_t c);

}  // namespace skald::chat
