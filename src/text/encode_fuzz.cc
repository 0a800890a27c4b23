// Encodes arbitrary bytes with small vocabularies of every kind. Oracles: the bytes come back when
// decoded, as far as the tokenizer does not normalize; short pieces are merged as the definition of
// BPE says; no control token comes from text; time and memory are in proportion to the text.
//
// Input: byte 0 chooses the vocabulary, and from 250 on has the rest repeated to two kilobytes,
// from 253 on to 128, where superlinear behaviour shows.

#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "skald/tokenizer.h"
#include "support/cost.h"
#include "text/charsmap_builder.h"
#include "text/pre_tokenizer.h"
#include "text/test_vocabs.h"
#include "text/unicode.h"

namespace {

using skald::TokenId;
using skald::Tokenizer;

constexpr size_t kNaiveBytes = 40;
constexpr size_t kRepeatedBytes = 2048;
constexpr size_t kLongBytes = 128 << 10;
constexpr uint8_t kRepeatFrom = 250;
constexpr uint8_t kLongFrom = 253;
// What a byte of text may cost, with the sanitizers on a busy machine.
constexpr int64_t kMemoryPerByte = 160;
constexpr double kSecondsPerByte = 20e-6;
constexpr double kSecondsBase = 0.5;
constexpr const char* kPreTokenizers[] = {
    "gpt-2",       "llama-bpe", "qwen2",     "default", "smollm",   "deepseek-llm",
    "deepseek-v3", "gpt-4o",    "kimi-k2",   "jais-2",  "tiny_aya", "superbpe",
    "exaone-moe",  "qwen35",    "chameleon", "bloom",   "youtu",    "afmoe"};

// One vocabulary with everything needed to check it.
struct Family {
  explicit Family(skald::text::OwnedSpec spec)
      : owned(std::move(spec)),
        tokenizer(*Tokenizer::Create(owned.spec())),
        sentence_piece(owned),
        byte_level(owned) {
    if (owned.fields.model == "gpt2") {
      rule = *skald::text::FindPreTokenizerRule(owned.fields.pre);
      pre_tokenizer.emplace(*skald::text::PreTokenizer::Create(*rule));
    }
  }

  skald::text::OwnedSpec owned;
  Tokenizer tokenizer;
  skald::text::NaiveSentencePiece sentence_piece;
  skald::text::NaiveByteLevel byte_level;
  const skald::text::PreTokenizerRule* rule = nullptr;
  std::optional<skald::text::PreTokenizer> pre_tokenizer;
};

const std::vector<Family>& Families() {
  static const std::vector<Family> families = [] {
    std::vector<Family> made;
    for (const char* pre : kPreTokenizers) made.emplace_back(skald::text::SmallByteLevel(pre));
    skald::text::OwnedSpec owned = skald::text::SmallSentencePiece();
    owned.fields.add_space_prefix = false;
    made.emplace_back(owned);
    owned.Add("c\xE2\x96\x81", 1, 5);  // words are not separate
    made.emplace_back(owned);
    made.emplace_back(skald::text::SmallWholeLines());
    owned = skald::text::SmallUnigram();
    owned.fields.precompiled_charsmap = skald::text::CharsmapBuilder()
                                            .Add("\xC2\xA0", " ")
                                            .Add("ab", "c")
                                            .Add("abb", "")
                                            .Add("\xEF\xAC\x81", "fi")
                                            .Build();
    made.emplace_back(owned);
    made.emplace_back(skald::text::SmallWordPiece());
    return made;
  }();
  return families;
}

std::string Replace(const std::string& text, std::string_view from, std::string_view to) {
  std::string replaced;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    replaced.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  return replaced.append(text, at, std::string::npos);
}

// What decoding gives back, or nothing where the tokenizer normalizes more than that.
std::optional<std::string> Decoded(const Family& family, const std::string& text) {
  const std::string& model = family.owned.fields.model;
  if (model == "t5" || model == "bert") return std::nullopt;
  if (!family.pre_tokenizer) return Replace(text, "\xE2\x96\x81", " ");
  if (family.rule->normalization == skald::text::Normalization::kNone) return text;
  skald::text::Pace pace;
  // A special token is cut out of the text before the rest is normalized.
  if (text.find("<tool>") != std::string::npos) return std::nullopt;
  return *skald::text::NormalizedC(text, &pace);
}

std::vector<TokenId> Naive(const Family& family, std::string_view text) {
  std::vector<TokenId> ids;
  if (family.pre_tokenizer) {
    skald::text::Pace pace;
    const auto pieces = family.pre_tokenizer->Split(text, pace);
    CHECK(pieces.ok());
    for (const std::string_view piece : *pieces) {
      const TokenId whole = family.tokenizer.FindToken(piece);
      if (family.rule->whole_pieces == skald::text::WholePieces::kTakeWhole &&
          whole != skald::kNoToken && family.tokenizer.Type(whole) == skald::TokenType::kNormal) {
        ids.push_back(whole);
        continue;
      }
      for (const TokenId id : family.byte_level.Encode(piece)) ids.push_back(id);
    }
    return ids;
  }
  std::vector<std::string> characters;
  while (!text.empty()) {
    const skald::Utf8Sequence sequence = skald::ReadUtf8(text);
    const bool whole = sequence.kind == skald::Utf8Sequence::Kind::kWellFormed;
    characters.emplace_back(text.substr(0, whole ? static_cast<size_t>(sequence.length) : 1));
    text.remove_prefix(characters.back().size());
  }
  return family.sentence_piece.Encode(characters);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Family& family = Families()[data[0] % Families().size()];
  std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] >= kRepeatFrom && !text.empty()) {
    const std::string unit = text;
    while (text.size() < (data[0] >= kLongFrom ? kLongBytes : kRepeatedBytes)) text += unit;
  }

  skald::Result<std::vector<TokenId>> ids = std::vector<TokenId>();
  const skald::test::Cost cost = skald::test::CostOf([&] { ids = family.tokenizer.Encode(text); });
  CHECK(ids.ok());
  CHECK(cost.peak_bytes < kMemoryPerByte * static_cast<int64_t>(text.size()) + (64 << 10));
  CHECK(cost.cpu_seconds < kSecondsBase + kSecondsPerByte * static_cast<double>(text.size()));
  const auto body = family.tokenizer.Encode(text, {.boundary = skald::BoundaryTokens::kNone});
  CHECK(body.ok());
  for (const TokenId id : *body) {
    CHECK(!family.tokenizer.IsControl(id) || id == family.tokenizer.unk_id());
  }
  const std::optional<std::string> expected = Decoded(family, text);
  if (!expected) return 0;
  CHECK(family.tokenizer.DecodeBytes(*body) == *expected);
  const bool whole_lines = family.owned.fields.model == "gemma4";
  if (text.size() <= kNaiveBytes && text.find("<tool>") == std::string::npos && !whole_lines) {
    CHECK(*body == Naive(family, *expected));
  }
  return 0;
}
