#include "huggingface/splitting.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/quote.h"
#include "huggingface/tokenizer_steps.h"
#include "text/pre_tokenizer_rules.h"

namespace skald::huggingface {
namespace {

using text::PreTokenizerRule;

Status Unsupported(std::string_view problem) {
  return Status(ErrorCode::kUnsupported, fmt::format("tokenizer.json: {}", problem));
}

// What ByteLevel cuts by if it is told to, which is what GPT-2's rule is.
std::string_view Gpt2Pattern() {
  const auto rule = text::FindPreTokenizerRule("gpt-2");
  return rule.ok() && !(*rule)->stages.empty() ? (*rule)->stages.front().pattern : "";
}

struct Patterns {
  std::vector<std::string> list;
  bool has_byte_level = false;
};

Result<Patterns> ReadPatterns(JsonValue tokenizer) {
  Patterns patterns;
  for (const JsonValue step : JsonSteps(tokenizer, "pre_tokenizer", "pretokenizers")) {
    const std::string_view type = JsonText(step, "type");
    if (type == "ByteLevel") {
      patterns.has_byte_level = true;
      if (JsonFlag(step, "use_regex", true)) patterns.list.emplace_back(Gpt2Pattern());
    } else if (type == "Digits" && JsonFlag(step, "individual_digits", false)) {
      patterns.list.emplace_back(R"(\p{N})");
    } else if (type == "Split") {
      const std::optional<JsonValue> pattern = step.Find("pattern");
      const std::string_view regex = pattern ? JsonText(*pattern, "Regex") : "";
      if (regex.empty()) return Unsupported("a Split has no regular expression");
      // Both of these make each match a piece.
      const bool isolates =
          JsonText(step, "behavior") == "Isolated" && !JsonFlag(step, "invert", false);
      const bool inverts =
          JsonText(step, "behavior") == "Removed" && JsonFlag(step, "invert", false);
      if (!isolates && !inverts)
        return Unsupported("a Split that drops what it matches is not read");
      patterns.list.emplace_back(regex);
    } else {
      return Unsupported(fmt::format("pre-tokenizer {} is not read", formats::Quote(type)));
    }
  }
  return patterns;
}

bool HasStages(const PreTokenizerRule& rule, const std::vector<std::string>& patterns) {
  return std::equal(rule.stages.begin(), rule.stages.end(), patterns.begin(), patterns.end(),
                    [](const text::SplitStage& stage, const std::string& pattern) {
                      return stage.cut == text::Cut::kWhole && stage.pattern == pattern;
                    });
}

Result<std::string> FindRule(JsonValue tokenizer, const Patterns& patterns) {
  bool composes = false;
  for (const JsonValue step : JsonSteps(tokenizer, "normalizer", "normalizers")) {
    if (JsonText(step, "type") != "NFC")
      return Unsupported(
          fmt::format("normalizer {} is not read", formats::Quote(JsonText(step, "type"))));
    composes = true;
  }
  const std::optional<JsonValue> model = tokenizer.Find("model");
  const bool takes_whole = model && JsonFlag(*model, "ignore_merges", false);
  for (const PreTokenizerRule& rule : text::PreTokenizerRules()) {
    const bool same_whole = (rule.whole_pieces == text::WholePieces::kTakeWhole) == takes_whole &&
                            rule.whole_pieces != text::WholePieces::kTakeNewlines;
    const bool same_form = (rule.normalization == text::Normalization::kC) == composes;
    const bool is_of_bytes = rule.alphabet == text::Alphabet::kBytes;
    if (same_whole && same_form && is_of_bytes && HasStages(rule, patterns.list))
      return std::string(rule.name);
  }
  std::string all;
  for (const std::string& pattern : patterns.list)
    all += (all.empty() ? "" : " then ") + formats::Quote(pattern, 200);
  return Unsupported(fmt::format("no rule of this version cuts a text by {}{}{}", all,
                                 composes ? ", NFC" : "", takes_whole ? ", ignore_merges" : ""));
}

// SentencePiece's mark for a space.
constexpr std::string_view kMark = "\u2581";

bool AddsSpace(JsonValue tokenizer) {
  for (const JsonValue step : JsonSteps(tokenizer, "normalizer", "normalizers"))
    if (JsonText(step, "type") == "Prepend" && JsonText(step, "prepend") == kMark) return true;
  for (const JsonValue step : JsonSteps(tokenizer, "pre_tokenizer", "pretokenizers")) {
    if (JsonText(step, "type") != "Metaspace") continue;
    const std::string_view scheme = JsonText(step, "prepend_scheme");
    if (scheme.empty()) return JsonFlag(step, "add_prefix_space", true);
    return scheme != "never";
  }
  return false;
}

}  // namespace

Result<Splitting> ReadSplitting(JsonValue tokenizer) {
  const std::optional<JsonValue> model = tokenizer.Find("model");
  const bool has_byte_tokens = model && JsonFlag(*model, "byte_fallback", false);
  if (has_byte_tokens) return Splitting{.is_of_bytes = false, .adds_space = AddsSpace(tokenizer)};
  const Result<Patterns> patterns = ReadPatterns(tokenizer);
  if (!patterns.ok()) return patterns.status();
  if (!patterns->has_byte_level)
    return Unsupported("a byte-pair encoding of neither bytes nor SentencePiece is not read");
  Result<std::string> rule = FindRule(tokenizer, *patterns);
  if (!rule.ok()) return std::move(rule).status();
  return Splitting{.is_of_bytes = true, .rule = *std::move(rule)};
}

}  // namespace skald::huggingface
