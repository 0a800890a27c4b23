// The methods of strings.
#include <algorithm>
#include <string>

#include "base/status_macros.h"
#include "chat/arguments.h"
#include "chat/builtins.h"
#include "chat/letter_case.h"
#include "chat/python_format.h"
#include "chat/search.h"
#include "chat/text_operations.h"

namespace skald::chat {

namespace {

Status ExpectString(const Value& found) {
  return Status(ErrorCode::kInvalidArgument,
                "expected a string, found " + std::string(TypeName(found)));
}

const Text& Self(const Value& self) { return *AsText(self); }

template <Ends kEnds>
Result<Value> StripMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"chars"}));
  const bool given = !IsUndefined(values[0]) && !IsNone(values[0]);
  if (given && AsText(values[0]) == nullptr) return ExpectString(values[0]);
  return Value(Strip(runtime.budget(), Self(self), kEnds, given ? AsText(values[0]) : nullptr));
}

template <CaseChange kChange>
Result<Value> CaseMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  return Value(ChangeCase(runtime.budget(), Self(self), kChange));
}

// Where `part` stands in `text`, first or last; npos if it does not.
template <Ends kFrom>
size_t Place(Budget& budget, std::string_view text, std::string_view part) {
  if (part.empty()) return kFrom == Ends::kRight ? text.size() : 0;
  if (part.size() > text.size()) return std::string_view::npos;
  budget.Scan(text.size());
  const Needle needle(part);
  return kFrom == Ends::kRight ? needle.FindLast(text) : needle.Find(text, 0);
}

// "a,b,c".split(",", limit); from the right for rsplit.
template <Ends kFrom>
Result<Value> SplitMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"sep", "maxsplit"}));
  int64_t storage = 0;
  const int64_t* given = AsInt(values[1], &storage);
  if (given == nullptr && !IsUndefined(values[1]))
    return Status(ErrorCode::kInvalidArgument, "expected a whole number as maxsplit");
  int64_t limit = given == nullptr ? -1 : *given;
  const Text& text = Self(self);
  const bool from_right = kFrom == Ends::kRight && limit >= 0;
  Budget& budget = runtime.budget();
  Pieces pieces(budget);
  const Text* separator = AsText(values[0]);
  if (separator != nullptr) {
    if (separator->empty()) return Status(ErrorCode::kInvalidArgument, "empty separator");
    pieces = SplitAt(budget, text.bytes(), separator->bytes(), from_right ? -1 : limit);
  } else if (IsUndefined(values[0]) || IsNone(values[0])) {
    pieces = SplitAtSpace(budget, text.bytes(), from_right ? -1 : limit);
  } else {
    return ExpectString(values[0]);
  }
  const size_t kept = static_cast<size_t>(limit) + 1;  // pieces from the right, if from_right
  if (from_right && pieces.size() > kept) {
    const size_t joined = pieces.size() - kept + 1;  // first pieces that stay one
    pieces[joined - 1].begin = pieces[0].begin;
    std::vector<TextRange>& all = pieces.items();
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(joined) - 1);
  }
  // White space in front stays, once there were as many splits as asked for.
  if (from_right && separator == nullptr && pieces.size() == kept) pieces[0].begin = 0;
  return ToList(runtime, text, pieces);
}

Result<Value> SplitLinesMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  return ToList(runtime, Self(self), SplitLines(runtime.budget(), Self(self).bytes()));
}

// "a=b".partition("="): what is before, the separator, what is behind.
template <Ends kFrom>
Result<Value> PartitionMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"sep"}, 1));
  const Text* separator = AsText(values[0]);
  if (separator == nullptr || separator->empty()) return ExpectString(values[0]);
  const Text& text = Self(self);
  const std::string_view bytes = text.bytes();
  Budget& budget = runtime.budget();
  const size_t found = Place<kFrom>(budget, bytes, separator->bytes());
  std::vector<Value> parts;
  if (found == std::string_view::npos) {
    parts = {text, Text(), Text()};
    if (kFrom == Ends::kRight) std::swap(parts[0], parts[2]);
  } else {
    const size_t behind = found + separator->size();
    parts = {Slice(budget, text, 0, found), Slice(budget, text, found, behind),
             Slice(budget, text, behind, bytes.size())};
  }
  return Value(runtime.heap.NewSequence(SequenceKind::kTuple, std::move(parts)));
}

template <Ends kEnd>
Result<Value> BeginsOrEnds(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"prefix"}, 1));
  const std::string_view text = Self(self).bytes();
  const auto matches = [&runtime, text](const Text& part) {
    runtime.budget().Scan(part.size());
    return kEnd == Ends::kLeft ? text.starts_with(part.bytes()) : text.ends_with(part.bytes());
  };
  if (const Text* part = AsText(values[0])) return Value(matches(*part));
  auto* const* sequence = std::get_if<Sequence*>(&values[0]);
  if (sequence == nullptr || (*sequence)->kind != SequenceKind::kTuple)
    return ExpectString(values[0]);
  for (const Value& candidate : (*sequence)->items) {
    const Text* part = AsText(candidate);
    if (part == nullptr) return ExpectString(candidate);
    if (!runtime.budget().Spend(1)) break;
    if (matches(*part)) return Value(true);
  }
  return Value(false);
}

template <Ends kEnd>
Result<Value> RemoveAffix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"affix"}, 1));
  const Text* affix = AsText(values[0]);
  if (affix == nullptr) return ExpectString(values[0]);
  runtime.budget().Scan(affix->size());
  const Text& text = Self(self);
  const bool left = kEnd == Ends::kLeft;
  const bool there =
      left ? text.bytes().starts_with(affix->bytes()) : text.bytes().ends_with(affix->bytes());
  if (!there) return self;
  return Value(left ? Slice(runtime.budget(), text, affix->size(), text.size())
                    : Slice(runtime.budget(), text, 0, text.size() - affix->size()));
}

Result<Value> ReplaceMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"old", "new", "count"}, 2));
  if (AsText(values[0]) == nullptr) return ExpectString(values[0]);
  if (AsText(values[1]) == nullptr) return ExpectString(values[1]);
  int64_t storage = 0;
  const int64_t* count = AsInt(values[2], &storage);
  Text to = *AsText(values[1]);
  if (Self(self).is_markup()) to = Escape(runtime.budget(), to);
  return Value(Replace(runtime.budget(), Self(self), *AsText(values[0]), to, count ? *count : -1));
}

Result<Value> JoinMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"iterable"}, 1));
  ASSIGN_OR_RETURN(const Counted<Value> items, Iterate(runtime, values[0]));
  for (const Value& item : items)
    if (AsText(item) == nullptr) return ExpectString(item);
  return Value(JoinTexts(runtime, Self(self), items));
}

template <Ends kFrom>
Result<Value> FindMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"sub"}, 1));
  const Text* part = AsText(values[0]);
  if (part == nullptr) return ExpectString(values[0]);
  const std::string_view text = Self(self).bytes();
  const size_t found = Place<kFrom>(runtime.budget(), text, part->bytes());
  if (found == std::string_view::npos) return Value(int64_t{-1});
  if (Self(self).is_ascii()) return Value(static_cast<int64_t>(found));
  int64_t count = 0;
  runtime.budget().Read(found);
  for (Characters characters(text.substr(0, found)); characters.Next();) ++count;
  return Value(count);
}

Result<Value> IndexMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Value found, FindMethod<Ends::kLeft>(runtime, self, arguments));
  if (std::get<int64_t>(found) < 0)
    return Status(ErrorCode::kInvalidArgument, "the substring is not there");
  return found;
}

Result<Value> CountMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto values, Bind(arguments, {"sub"}, 1));
  const Text* part = AsText(values[0]);
  if (part == nullptr) return ExpectString(values[0]);
  if (!part->empty()) return Value(CountOf(runtime.budget(), Self(self).bytes(), part->bytes()));
  ASSIGN_OR_RETURN(const int64_t characters, Length(runtime, self));
  return Value(characters + 1);
}

// Tests of all characters of a string that is not empty.
template <bool (*kTest)(char32_t)>
Result<Value> AllMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  Characters characters(Self(self).bytes());
  if (Self(self).empty()) return Value(false);
  runtime.budget().Read(Self(self).size());
  while (characters.Next())
    if (!kTest(characters.code_point())) return Value(false);
  return Value(true);
}

bool IsDigit(char32_t c) { return c >= '0' && c <= '9'; }
bool IsAlpha(char32_t c) { return c < 0x80 ? ToLower(c) != c || ToUpper(c) != c : !IsSpace(c); }
bool IsAlphaOrDigit(char32_t c) { return IsAlpha(c) || IsDigit(c); }

// Whether there are letters with case, and all of them are of this case.
template <bool kUpperCase>
Result<Value> IsCaseMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind(arguments, {}).status());
  bool found = false;
  runtime.budget().Read(Self(self).size());
  for (Characters characters(Self(self).bytes()); characters.Next();) {
    const char32_t c = characters.code_point();
    if ((kUpperCase ? ToUpper(c) : ToLower(c)) != c) return Value(false);
    found = found || (kUpperCase ? ToLower(c) : ToUpper(c)) != c;
  }
  return Value(found);
}

// "{} and {name}".format(...): fields by order, number or name; no format specifications.
Result<Value> FormatMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Text& format = Self(self);
  const std::string_view bytes = format.bytes();
  TextBuilder builder(runtime.budget());
  size_t automatic = 0;
  size_t at = 0;
  while (at < bytes.size() && runtime.budget().Spend(1)) {
    const size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
    builder.AddSlice(format, at, brace);
    if (brace == bytes.size()) break;
    if (bytes.substr(brace).starts_with("{{") || bytes.substr(brace).starts_with("}}")) {
      builder.AddSlice(format, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    const size_t close = bytes.find('}', brace);
    if (bytes[brace] == '}' || close == std::string_view::npos)
      return Status(ErrorCode::kInvalidArgument, "a single '" + std::string(1, bytes[brace]) + "'");
    const std::string field(bytes.substr(brace + 1, close - brace - 1));
    if (field.find_first_of(":!.[{") != std::string::npos)
      return Status(ErrorCode::kUnsupported, "the field '{" + field.substr(0, 40) +
                                                 "}' is not supported; expected a number or name");
    size_t place = arguments.values.size();
    if (field.empty()) {
      if (automatic < arguments.positional()) place = automatic;
      ++automatic;
    } else if (field.find_first_not_of("0123456789") == std::string::npos && field.size() < 4) {
      size_t number = 0;
      for (const char digit : field) number = number * 10 + static_cast<size_t>(digit - '0');
      if (number < arguments.positional()) place = number;
    } else {
      constexpr size_t kNamesPerStep = 8;
      runtime.budget().Spend(static_cast<int64_t>(arguments.names.size() / kNamesPerStep));
      const auto found = std::find(arguments.names.begin(), arguments.names.end(), field);
      if (found != arguments.names.end())
        place = arguments.positional() + static_cast<size_t>(found - arguments.names.begin());
    }
    if (place >= arguments.values.size())
      return Status(ErrorCode::kInvalidArgument, "no argument for '{" + field.substr(0, 40) + "}'");
    builder.Add(ToText(runtime.budget(), arguments.values[place]));
    at = close + 1;
  }
  return Value(builder.Take(format.is_markup() ? Markup::kYes : Markup::kNo));
}

constexpr Function kMethods[] = {
    {"strip", StripMethod<Ends::kBoth>},
    {"lstrip", StripMethod<Ends::kLeft>},
    {"rstrip", StripMethod<Ends::kRight>},
    {"split", SplitMethod<Ends::kLeft>},
    {"rsplit", SplitMethod<Ends::kRight>},
    {"splitlines", SplitLinesMethod},
    {"partition", PartitionMethod<Ends::kLeft>},
    {"rpartition", PartitionMethod<Ends::kRight>},
    {"startswith", BeginsOrEnds<Ends::kLeft>},
    {"endswith", BeginsOrEnds<Ends::kRight>},
    {"removeprefix", RemoveAffix<Ends::kLeft>},
    {"removesuffix", RemoveAffix<Ends::kRight>},
    {"replace", ReplaceMethod},
    {"join", JoinMethod},
    {"find", FindMethod<Ends::kLeft>},
    {"rfind", FindMethod<Ends::kRight>},
    {"index", IndexMethod},
    {"count", CountMethod},
    {"upper", CaseMethod<CaseChange::kUpper>},
    {"lower", CaseMethod<CaseChange::kLower>},
    {"capitalize", CaseMethod<CaseChange::kCapitalize>},
    {"title", CaseMethod<CaseChange::kTitle>},
    {"isdigit", AllMethod<IsDigit>},
    {"isdecimal", AllMethod<IsDigit>},
    {"isnumeric", AllMethod<IsDigit>},
    {"isalpha", AllMethod<IsAlpha>},
    {"isalnum", AllMethod<IsAlphaOrDigit>},
    {"isspace", AllMethod<IsSpace>},
    {"isupper", IsCaseMethod<true>},
    {"islower", IsCaseMethod<false>},
    {"format", FormatMethod},
};

}  // namespace

std::span<const Function> TextMethods() { return kMethods; }

}  // namespace skald::chat
