#include "text/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "base/utf8.h"

namespace skald::text {

namespace {

// White_Space of PropList.txt (Unicode 15), the inside of a character class.
constexpr std::string_view kWhiteSpace =
    R"(\x09-\x0D\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// The matcher's step limits for one match: a few steps per byte is what the patterns take at worst
// (a run of spaces tried in two alternatives); the constant lets short texts through.
constexpr size_t kMatchStepsPerByte = 16;
constexpr size_t kMatchStepsBase = 10000;

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct MatchContextDeleter {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::string Pcre2Message(int code) {
  PCRE2_UCHAR buffer[128] = {};
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Bytes of the first `count` characters of `text`, which has that many.
size_t BytesOfCharacters(std::string_view text, size_t count) {
  size_t bytes = 0;
  for (; count > 0; --count) bytes += static_cast<size_t>(ReadUtf8(text.substr(bytes)).length);
  return bytes;
}

// A match at the end of `text`, of which everything before `begin` has been cut off already.
struct Match {
  std::string_view text;
  size_t begin;
  size_t match_begin;
};

// Cuts off pieces up to the end of the match; returns where what is not cut off yet begins.
size_t CutOff(const Match& match, Cut cut, std::vector<std::string_view>* pieces) {
  size_t begin = match.begin;
  const auto cut_at = [&](size_t end) {
    if (end > begin) pieces->push_back(match.text.substr(begin, end - begin));
    begin = end;
  };
  if (cut == Cut::kWhole || cut == Cut::kThreesFromRight) cut_at(match.match_begin);
  if (cut == Cut::kWhole) {
    cut_at(match.text.size());
    return begin;
  }
  std::string_view rest = match.text.substr(match.match_begin);
  for (size_t count = CountCharacters(rest); count > 0;) {
    const size_t first = count % 3 != 0 ? count % 3 : 3;
    if (cut == Cut::kBeforeThrees && first == 3) cut_at(match.text.size() - rest.size());
    rest.remove_prefix(BytesOfCharacters(rest, first));
    if (cut != Cut::kBeforeThrees) cut_at(match.text.size() - rest.size());
    count -= first;
  }
  return begin;
}

}  // namespace

/// Working memory of the matcher for one call of Split.
struct PreTokenizer::Matching {
  Matching(size_t text_bytes, Pace& its_pace)
      : pace(its_pace),
        data(pcre2_match_data_create(1, nullptr)),
        context(pcre2_match_context_create(nullptr)) {
    if (context == nullptr) return;
    const size_t steps = kMatchStepsBase + kMatchStepsPerByte * text_bytes;
    pcre2_set_match_limit(context.get(),
                          static_cast<uint32_t>(std::min<size_t>(steps, UINT32_MAX)));
  }

  Pace& pace;
  std::unique_ptr<pcre2_match_data, MatchDataDeleter> data;
  std::unique_ptr<pcre2_match_context, MatchContextDeleter> context;
};

/// One stage: a compiled pattern, and what becomes of its matches.
class PreTokenizer::Stage {
 public:
  static Result<Stage> Compile(const SplitStage& source);
  /// Appends the pieces of `text`, which is well-formed and not empty.
  Status Split(std::string_view text, const Matching& matching,
               std::vector<std::string_view>* pieces) const;

 private:
  std::unique_ptr<pcre2_code, CodeDeleter> code_;
  Cut cut_ = Cut::kWhole;
};

Result<PreTokenizer::Stage> PreTokenizer::Stage::Compile(const SplitStage& source) {
  ASSIGN_OR_RETURN(const std::string pattern, PatternForPcre2(source.pattern));
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  Stage stage;
  stage.cut_ = source.cut;
  stage.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error,
                                  &error_offset, nullptr));
  if (stage.code_ == nullptr) {
    return Status(ErrorCode::kUnsupported, "pre-tokenizer pattern: " + Pcre2Message(error) +
                                               " at offset " + std::to_string(error_offset));
  }
  // Where the system forbids generated code the interpreter gives the same matches, slower.
  static_cast<void>(pcre2_jit_compile(stage.code_.get(), PCRE2_JIT_COMPLETE));
  return stage;
}

Status PreTokenizer::Stage::Split(std::string_view text, const Matching& matching,
                                  std::vector<std::string_view>* pieces) const {
  size_t begin = 0;  // of the piece that is not cut off yet
  size_t at = 0;
  while (at < text.size()) {
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY,
                                  matching.data.get(), matching.context.get());
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      return Status(ErrorCode::kResourceExhausted,
                    "pre-tokenizer: " + Pcre2Message(found) + " at byte " + std::to_string(at) +
                        " of a run of " + std::to_string(text.size()));
    }
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(matching.data.get());
    begin = CutOff({text.substr(0, offsets[1]), begin, offsets[0]}, cut_, pieces);
    if (!matching.pace.Go(offsets[1] - at)) return Pace::Stopped();
    at = offsets[1];
  }
  if (begin < text.size()) pieces->push_back(text.substr(begin));
  return Ok();
}

PreTokenizer::PreTokenizer() = default;
PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&& other) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&& other) noexcept = default;

Result<PreTokenizer> PreTokenizer::Create(const PreTokenizerRule& rule) {
  PreTokenizer result;
  for (const SplitStage& source : rule.stages) {
    ASSIGN_OR_RETURN(Stage stage, Stage::Compile(source));
    result.stages_.push_back(std::move(stage));
  }
  return result;
}

Result<std::vector<std::string_view>> PreTokenizer::Split(std::string_view text, Pace& pace) const {
  std::vector<std::string_view> pieces;
  const Matching matching(text.size(), pace);
  if (matching.data == nullptr || matching.context == nullptr) {
    return Status(ErrorCode::kResourceExhausted, "pre-tokenizer: no memory for matching");
  }
  while (!text.empty()) {
    const size_t prefix = WellFormedPrefix(text);
    if (prefix > 0) RETURN_IF_ERROR(SplitWellFormed(text.substr(0, prefix), matching, &pieces));
    text.remove_prefix(prefix);
    if (text.empty()) break;
    const auto ill_formed = static_cast<size_t>(ReadUtf8(text).length);
    pieces.push_back(text.substr(0, ill_formed));
    text.remove_prefix(ill_formed);
  }
  return pieces;
}

Status PreTokenizer::SplitWellFormed(std::string_view text, const Matching& matching,
                                     std::vector<std::string_view>* pieces) const {
  if (stages_.size() == 1) return stages_[0].Split(text, matching, pieces);
  std::vector<std::string_view> before = {text};
  for (const Stage& stage : stages_) {
    std::vector<std::string_view> after;
    for (const std::string_view piece : before)
      RETURN_IF_ERROR(stage.Split(piece, matching, &after));
    before = std::move(after);
  }
  pieces->insert(pieces->end(), before.begin(), before.end());
  return Ok();
}

namespace {

// True for \p{Han} and the like: names longer than those of general categories. In PCRE2 they mean
// Script_Extensions, elsewhere Script, which is \p{sc:Han} here.
bool NamesAScript(std::string_view escape) {
  constexpr size_t kCategoryLetters = 2;
  if (!escape.starts_with("\\p{") && !escape.starts_with("\\P{")) return false;
  const std::string_view name = escape.substr(3, escape.find('}') - 3);
  return name.size() > kCategoryLetters && !name.starts_with("sc:");
}

}  // namespace

Result<std::string> PatternForPcre2(std::string_view published) {
  const auto refuse = [published](const char* what) {
    return Status(ErrorCode::kUnsupported, "pre-tokenizer pattern uses " + std::string(what) +
                                               ", which PCRE2 would read differently: " +
                                               std::string(published.substr(0, 200)));
  };
  std::string pattern;
  bool in_class = false;
  for (size_t i = 0; i < published.size(); ++i) {
    const std::string_view rest = published.substr(i);
    if (rest[0] == '\\' && rest.size() >= 2) {
      ++i;
      if (rest[1] == 'S' && in_class) return refuse("\\S inside a class");
      if (NamesAScript(rest)) return refuse("\\p{} of a script without sc:");
      if (rest[1] == 's') {
        pattern += in_class ? std::string(kWhiteSpace) : "[" + std::string(kWhiteSpace) + "]";
      } else if (rest[1] == 'S') {
        pattern += "[^" + std::string(kWhiteSpace) + "]";
      } else {
        pattern += rest.substr(0, 2);
      }
      continue;
    }
    if (in_class && rest.substr(0, 2) == "&&") return refuse("a class intersection (&&)");
    if (!in_class && rest[0] == '[') {
      in_class = true;
    } else if (in_class && rest[0] == ']') {
      in_class = false;
    }
    pattern += rest[0];
  }
  return pattern;
}

}  // namespace skald::text
