#include "text/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status_macros.h"
#include "base/utf8.h"

namespace skald::text {

namespace {

// The patterns as published, except that characters beyond ASCII are written \x{...}.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p)"
    R"({N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+)"
    R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepseekLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A})"
    R"(\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556})"
    R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D})"
    R"(\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-)"
    R"(\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})"
    R"(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC})"
    R"(\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"
    R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3})"
    R"(\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})"
    R"(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-)"
    R"(\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr std::string_view kDeepseekPunctuation =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr std::string_view kDeepseekCjk =
    R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kDeepseekV3Cjk =
    R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kDeepseekV3Pattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\)"
    R"(p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[)"
    R"(^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p)"
    R"({N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4oPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?)"
    R"(i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L})"
    R"(\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigitsPattern = R"(\p{N}+)";
constexpr std::string_view kOneDigitPattern = R"(\p{N})";

// The rows of patterns. An empty string ends a row.
using Row = std::array<std::string_view, 6>;
constexpr Row kGpt2 = {kGpt2Pattern};
constexpr Row kLlama3 = {kLlama3Pattern};
constexpr Row kQwen2 = {kQwen2Pattern};
constexpr Row kSmollm = {kOneDigitPattern, kGpt2Pattern};
constexpr Row kTekken = {kTekkenPattern};
constexpr Row kGpt4o = {kGpt4oPattern};
constexpr Row kDefault = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Pattern, kDigitsPattern,
                          "[0-9][0-9][0-9]"};
constexpr Row kDeepseekLlm = {R"([\r\n])", kDeepseekLetters, kDeepseekPunctuation,
                              R"(\s+$)",   kDeepseekCjk,     kDigitsPattern};
constexpr Row kDeepseekCoder = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kDeepseekCjk,
                                kOneDigitPattern};
constexpr Row kDeepseekV3 = {R"(\p{N}{1,3})", kDeepseekV3Cjk, kDeepseekV3Pattern};

struct Entry {
  std::string_view name;
  const Row* row;
  bool takes_whole_pieces = false;
  bool adds_bos = false;
};

// Names as llama.cpp's converter writes them (llama-vocab.cpp, llama_vocab::impl::load). "default"
// stands first; the others in alphabetical order.
constexpr Entry kEntries[] = {
    {"default", &kDefault},
    {"a.x-4.0", &kGpt2},
    {"chatglm-bpe", &kLlama3},
    {"codeshell", &kSmollm},
    {"command-r", &kSmollm},
    {"dbrx", &kLlama3},
    {"deepseek-coder", &kDeepseekCoder},
    {"deepseek-llm", &kDeepseekLlm},
    {"deepseek-r1-qwen", &kQwen2},
    {"deepseek-v3", &kDeepseekV3},
    {"exaone", &kSmollm},
    {"exaone4", &kGpt2},
    {"falcon-h1", &kLlama3, true, true},
    {"falcon3", &kLlama3, true, true},
    {"gigachat", &kGpt2},
    {"glm4", &kLlama3},
    {"gpt-2", &kGpt2},
    {"gpt-4o", &kGpt4o},
    {"grok-2", &kQwen2},
    {"hunyuan", &kQwen2},
    {"hunyuan-dense", &kDeepseekV3},
    {"kormo", &kQwen2},
    {"lfm2", &kLlama3, true, true},
    {"llama-bpe", &kLlama3, true, true},
    {"llama-v3", &kLlama3, true, true},
    {"llama3", &kLlama3, true, true},
    {"llama4", &kGpt4o},
    {"megrez", &kQwen2},
    {"mellum", &kGpt2},
    {"midm-2.0", &kLlama3, true, true},
    {"minerva-7b", &kSmollm},
    {"mpt", &kGpt2},
    {"olmo", &kGpt2},
    {"phi-2", &kGpt2},
    {"pixtral", &kLlama3, true, true},
    {"qwen2", &kQwen2},
    {"refact", &kSmollm},
    {"smaug-bpe", &kLlama3},
    {"smollm", &kSmollm},
    {"stablelm2", &kQwen2},
    {"starcoder", &kSmollm},
    {"tekken", &kTekken, true, true},
    {"trillion", &kGpt2},
};

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

/// One compiled pattern.
class PreTokenizer::Pattern {
 public:
  static Result<Pattern> Compile(std::string_view published);
  /// Appends the pieces of `text`, which is well-formed and not empty.
  Status Split(std::string_view text, const Matching& matching,
               std::vector<std::string_view>* pieces) const;

 private:
  std::unique_ptr<pcre2_code, CodeDeleter> code_;
};

Result<PreTokenizer::Pattern> PreTokenizer::Pattern::Compile(std::string_view published) {
  ASSIGN_OR_RETURN(const std::string source, PatternForPcre2(published));
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  Pattern pattern;
  pattern.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
                                    PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error,
                                    &error_offset, nullptr));
  if (pattern.code_ == nullptr) {
    return Status(ErrorCode::kUnsupported, "pre-tokenizer pattern: " + Pcre2Message(error) +
                                               " at offset " + std::to_string(error_offset));
  }
  // Where the system forbids generated code the interpreter gives the same matches, slower.
  static_cast<void>(pcre2_jit_compile(pattern.code_.get(), PCRE2_JIT_COMPLETE));
  return pattern;
}

Status PreTokenizer::Pattern::Split(std::string_view text, const Matching& matching,
                                    std::vector<std::string_view>* pieces) const {
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
    if (offsets[0] > at) pieces->push_back(text.substr(at, offsets[0] - at));
    pieces->push_back(text.substr(offsets[0], offsets[1] - offsets[0]));
    if (!matching.pace.Go(offsets[1] - at)) return Pace::Stopped();
    at = offsets[1];
  }
  if (at < text.size()) pieces->push_back(text.substr(at));
  return Ok();
}

PreTokenizer::PreTokenizer() = default;
PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&& other) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&& other) noexcept = default;

Result<PreTokenizer> PreTokenizer::Create(std::string_view name) {
  const Entry* entry = name.empty() ? &kEntries[0] : nullptr;
  std::string known;
  for (const Entry& candidate : kEntries) {
    if (candidate.name == name) entry = &candidate;
    known += (known.empty() ? "" : ", ") + std::string(candidate.name);
  }
  if (entry == nullptr) {
    return Status(ErrorCode::kUnsupported, "pre-tokenizer '" + std::string(name.substr(0, 64)) +
                                               "' is not known; known are " + known);
  }
  PreTokenizer result;
  for (const std::string_view published : *entry->row) {
    if (published.empty()) break;
    ASSIGN_OR_RETURN(Pattern pattern, Pattern::Compile(published));
    result.patterns_.push_back(std::move(pattern));
  }
  result.takes_whole_pieces_ = entry->takes_whole_pieces;
  result.adds_bos_ = entry->adds_bos;
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
  if (patterns_.size() == 1) return patterns_[0].Split(text, matching, pieces);
  std::vector<std::string_view> before = {text};
  for (const Pattern& pattern : patterns_) {
    std::vector<std::string_view> after;
    for (const std::string_view piece : before)
      RETURN_IF_ERROR(pattern.Split(piece, matching, &after));
    before = std::move(after);
  }
  pieces->insert(pieces->end(), before.begin(), before.end());
  return Ok();
}

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
