#include "chat/python_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace skald::chat {

std::string FormatDouble(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto shortest =
      std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific);
  CHECK(shortest.ec == std::errc());
  const std::string_view text(buffer, static_cast<size_t>(shortest.ptr - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  const std::string_view digits =
      text.substr(e + 1).starts_with('+') ? text.substr(e + 2) : text.substr(e + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  constexpr int kFixedFrom = -4;
  constexpr int kFixedTo = 16;
  if (exponent < kFixedFrom || exponent >= kFixedTo) return std::string(text);
  const auto fixed =
      std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::fixed);
  CHECK(fixed.ec == std::errc());
  std::string result(buffer, static_cast<size_t>(fixed.ptr - buffer));
  if (result.find('.') == std::string::npos) result += ".0";
  return result;
}

namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void AppendHex(uint32_t value, int digits, std::string* out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) *out += kHex[(value >> shift) & 15];
}

// Whether Python's repr writes a character as an escape: a quote or backslash, and what Unicode
// calls unprintable, as far as its control, format, space and private ranges go.
bool IsEscaped(char32_t c, char quote) {
  return c == static_cast<char32_t>(quote) || c == '\\' || c < 0x20 || (c >= 0x7F && c <= 0xA0) ||
         c == 0xAD ||
         (c < 0x10000 && c > 0x20 &&
          (IsSpace(c) || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || (c >= 0xE000 && c <= 0xF8FF) || c == 0xFEFF));
}

std::string ReprEscape(char32_t c) {
  switch (c) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\\': return "\\\\";
    case '\'': return "\\'";
    default: break;
  }
  std::string out = c < 0x100 ? "\\x" : "\\u";
  AppendHex(c, c < 0x100 ? 2 : 4, &out);
  return out;
}

// Python's repr of a string.
void AddRepr(Budget& budget, std::string_view bytes, TextBuilder* builder) {
  budget.Read(bytes.size());
  const bool has_single = bytes.find('\'') != std::string_view::npos;
  const bool has_double = bytes.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  builder->Add(std::string(1, quote), Origin::kData);
  size_t plain = 0;  // where the characters begin that are not yet added
  for (Characters characters(bytes); characters.Next() && !budget.exhausted();) {
    if (!IsEscaped(characters.code_point(), quote)) continue;
    builder->Add(bytes.substr(plain, characters.begin() - plain), Origin::kData);
    builder->Add(ReprEscape(characters.code_point()), Origin::kData);
    plain = characters.end();
  }
  builder->Add(bytes.substr(plain), Origin::kData);
  builder->Add(std::string(1, quote), Origin::kData);
}

// What str() and repr() say of values that are neither texts nor collections.
std::string ReprScalar(const Value& value) {
  if (IsUndefined(value)) return "Undefined";
  if (IsNone(value)) return "None";
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const int64_t* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const double* number = std::get_if<double>(&value)) return FormatDouble(*number);
  // Python shows an address there.
  return std::string(1, '<').append(TypeName(value)).append(1, '>');
}

// Writes repr(value), piece by piece.
class Repr {
 public:
  explicit Repr(Budget& budget) : builder_(budget), budget_(budget) {}

  void Write(const Value& value, int depth) {
    if (budget_.exhausted()) return;
    auto* const* sequence = std::get_if<Sequence*>(&value);
    auto* const* dict = std::get_if<Dict*>(&value);
    if (depth > kMaxValueDepth) return Put("...");
    if (sequence != nullptr) return WriteSequence(**sequence, depth);
    if (const Text* text = AsText(value)) return AddRepr(budget_, text->bytes(), &builder_);
    if (dict == nullptr) return Put(ReprScalar(value));
    Put("{");
    const char* separator = "";
    for (const Dict::Entry& entry : (*dict)->entries()) {
      if (budget_.exhausted()) return;
      Put(separator);
      separator = ", ";
      Write(entry.key, depth + 1);
      Put(": ");
      Write(entry.value, depth + 1);
    }
    Put("}");
  }
  Text Take() { return builder_.Take(); }

 private:
  void Put(std::string_view text) { builder_.Add(text, Origin::kData); }

  void WriteSequence(const Sequence& sequence, int depth) {
    if (sequence.kind == SequenceKind::kGenerator) return Put("<generator>");
    if (sequence.kind == SequenceKind::kRange) {
      const auto count = static_cast<int64_t>(sequence.items.size());
      const int64_t first = count > 0 ? std::get<int64_t>(sequence.items[0]) : 0;
      const int64_t step = count > 1 ? std::get<int64_t>(sequence.items[1]) - first : 1;
      Put("range(" + std::to_string(first) + ", " + std::to_string(first + count * step));
      return Put(step == 1 ? ")" : std::string(", ").append(std::to_string(step)).append(1, ')'));
    }
    const bool tuple = sequence.kind == SequenceKind::kTuple;
    Put(tuple ? "(" : "[");
    const char* separator = "";
    for (const Value& item : sequence.items) {
      if (budget_.exhausted()) return;
      Put(separator);
      separator = ", ";
      Write(item, depth + 1);
    }
    Put(tuple ? (sequence.items.size() == 1 ? ",)" : ")") : "]");
  }

  TextBuilder builder_;
  Budget& budget_;
};

class JsonText {
 public:
  JsonText(Budget& budget, const JsonStyle& style)
      : builder_(budget), budget_(budget), style_(style) {}

  Status Write(const Value& value, int depth) {
    if (budget_.exhausted()) return budget_.status();
    if (depth > kMaxValueDepth) {
      return Status(ErrorCode::kResourceExhausted,
                    "the value is nested too deeply; expected at most " +
                        std::to_string(kMaxValueDepth) + " levels");
    }
    if (const auto* dict = std::get_if<Dict*>(&value)) return WriteDict(**dict, depth);
    if (const auto* sequence = std::get_if<Sequence*>(&value)) {
      if ((*sequence)->kind == SequenceKind::kList || (*sequence)->kind == SequenceKind::kTuple)
        return WriteList(**sequence, depth);
    }
    if (const Text* text = AsText(value)) {
      PutString(text->bytes());
    } else if (IsNone(value)) {
      Put("null");
    } else if (const bool* flag = std::get_if<bool>(&value)) {
      Put(*flag ? "true" : "false");
    } else if (const int64_t* whole = std::get_if<int64_t>(&value)) {
      Put(std::to_string(*whole));
    } else if (const double* real = std::get_if<double>(&value)) {
      PutDouble(*real);
    } else {
      return Status(ErrorCode::kInvalidArgument,
                    "a " + std::string(TypeName(value)) + " cannot be written as JSON");
    }
    return Ok();
  }
  Text Take() { return builder_.Take(); }

 private:
  void Put(std::string_view text) { builder_.Add(text, Origin::kData); }

  void PutDouble(double number) {
    if (std::isnan(number)) return Put("NaN");
    if (std::isinf(number)) return Put(number < 0 ? "-Infinity" : "Infinity");
    Put(FormatDouble(number));
  }

  void PutEscape(char32_t c, std::string* out) const {
    constexpr std::string_view kFrom = "\"\\\b\f\n\r\t";
    constexpr std::string_view kTo = "\"\\bfnrt";
    *out += '\\';
    const size_t known = c < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
    if (known != std::string_view::npos) {
      *out += kTo[known];
    } else if (c < 0x10000) {
      *out += 'u';
      AppendHex(c, 4, out);
    } else {
      *out += 'u';
      AppendHex(0xD800 + ((c - 0x10000) >> 10), 4, out);
      *out += "\\u";
      AppendHex(0xDC00 + ((c - 0x10000) & 0x3FF), 4, out);
    }
  }

  void PutString(std::string_view bytes) {
    budget_.Read(bytes.size());
    Put("\"");
    size_t plain = 0;  // where the characters begin that are not yet written
    std::string escape;
    for (Characters characters(bytes); characters.Next() && !budget_.exhausted();) {
      const char32_t c = characters.code_point();
      const bool escaped = c < 0x20 || c == '"' || c == '\\' || (style_.ascii && c > 0x7F);
      if (!escaped) continue;
      Put(bytes.substr(plain, characters.begin() - plain));
      escape.clear();
      PutEscape(c, &escape);
      Put(escape);
      plain = characters.end();
    }
    Put(bytes.substr(plain));
    Put("\"");
  }

  void NewLine(int depth) {
    if (!style_.indent) return;
    Put("\n");
    for (int i = 0; i < depth; ++i) Put(*style_.indent);
  }

  Status WriteList(const Sequence& list, int depth) {
    if (list.items.empty()) return Put("[]"), Ok();
    Put("[");
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) Put(style_.item_separator);
      NewLine(depth + 1);
      RETURN_IF_ERROR(Write(list.items[i], depth + 1));
    }
    NewLine(depth);
    Put("]");
    return Ok();
  }

  // A key is a string in JSON, whatever it is here.
  void PutKey(const Value& key) {
    if (const Text* text = AsText(key)) return PutString(text->bytes());
    if (IsNone(key)) return PutString("null");
    if (const bool* flag = std::get_if<bool>(&key)) return PutString(*flag ? "true" : "false");
    PutString(ReprScalar(key));
  }

  Status WriteDict(const Dict& dict, int depth) {
    if (dict.entries().empty()) return Put("{}"), Ok();
    Counted<const Dict::Entry*> entries(budget_);
    for (const Dict::Entry& entry : dict.entries())
      if (!entries.Add(&entry)) break;
    if (style_.sorted) {
      for (const Dict::Entry* entry : entries)
        if (AsText(entry->key) == nullptr)
          return Status(ErrorCode::kInvalidArgument, "sort_keys expects keys that are strings");
      std::sort(entries.begin(), entries.end(), [this](const auto* a, const auto* b) {
        const std::string_view left = AsText(a->key)->bytes();
        const std::string_view right = AsText(b->key)->bytes();
        budget_.Spend(1);
        budget_.Scan(std::min(left.size(), right.size()));
        return left < right;
      });
    }
    Put("{");
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) Put(style_.item_separator);
      NewLine(depth + 1);
      PutKey(entries[i]->key);
      Put(style_.key_separator);
      RETURN_IF_ERROR(Write(entries[i]->value, depth + 1));
    }
    NewLine(depth);
    Put("}");
    return Ok();
  }

  TextBuilder builder_;
  Budget& budget_;
  const JsonStyle& style_;
};

}  // namespace

Text ToText(Budget& budget, const Value& value) {
  if (const Text* text = AsText(value)) return *text;
  if (IsUndefined(value)) return Text();
  if (std::get_if<Sequence*>(&value) == nullptr && std::get_if<Dict*>(&value) == nullptr)
    return MakeText(budget, ReprScalar(value), Origin::kData);
  Repr repr(budget);
  repr.Write(value, 0);
  return repr.Take();
}

Result<Text> ToJson(Budget& budget, const Value& value, const JsonStyle& style) {
  JsonText json(budget, style);
  RETURN_IF_ERROR(json.Write(value, 0));
  return json.Take();
}

}  // namespace skald::chat
