// Pairs of text and token ids, without BOS: texts separated by a marker line in one file, the ids
// of each on a line in another. Those in tests/data/tokenizers are of a slow and obvious tokenizer
// in Python, with two small vocabularies (tests/tokenizers); those beside the checkout are the
// published ones that llama.cpp's own tests use, for the vocabularies of four models, and those of
// families/: one vocabulary for each rule, with 417 texts.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "base/utf8.h"
#include "formats/gguf.h"
#include "load/tokenizer_from_gguf.h"
#include "support/shared_data.h"

namespace skald::load {
namespace {

constexpr std::string_view kMarker = "\n__ggml_vocab_test__\n";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> SplitTexts(const std::string& content, std::string_view marker) {
  std::vector<std::string> texts;
  size_t at = 0;
  for (size_t end = content.find(marker); end != std::string::npos;
       end = content.find(marker, at)) {
    texts.push_back(content.substr(at, end - at));
    at = end + marker.size();
  }
  return texts;
}

std::vector<std::vector<TokenId>> SplitIds(const std::string& content) {
  std::vector<std::vector<TokenId>> lines;
  std::istringstream stream(content);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream ids(line);
    lines.emplace_back(std::istream_iterator<TokenId>(ids), std::istream_iterator<TokenId>());
  }
  return lines;
}

// How a file is read other than by itself.
struct Reading {
  std::string pre = {};  // another pre-tokenizer
  std::optional<text::Normalization> normalization = text::Normalization::kNone;
};

// The tokenizer of a file. Not normalized unless a test asks for it: the recordings are of both.
Result<Tokenizer> Load(const std::string& path, const Reading& reading = {}) {
  Result<File> file = File::Open(path);
  if (!file.ok()) return std::move(file).status();
  Result<formats::GgufFile> gguf = formats::ParseGguf(*file);
  if (!gguf.ok()) return std::move(gguf).status();
  Result<text::TokenizerSpec> spec = TokenizerSpecFromMetadata(gguf->metadata);
  if (!spec.ok()) return std::move(spec).status();
  if (!reading.pre.empty()) spec->pre = reading.pre;
  spec->normalization = reading.normalization;
  return Tokenizer::Create(*spec);
}

bool HasByteTokens(const Tokenizer& tokenizer) {
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.Type(id) == TokenType::kByte) return true;
  }
  return false;
}

// What decoding gives back (docs/decisions/0012): U+2581 means a space to SentencePiece; bytes that
// a byte-level vocabulary has no token for are left out of a character, and make U+FFFD of what is
// no character.
std::string Spelled(const Tokenizer& tokenizer, std::string_view text) {
  const auto has_token = [&](char c) {
    return tokenizer.FindToken(std::string_view(&c, 1)) != kNoToken;
  };
  const bool sentence_piece = HasByteTokens(tokenizer);
  std::string spelled;
  while (!text.empty()) {
    const Utf8Sequence sequence = ReadUtf8(text);
    std::string_view bytes = text.substr(0, static_cast<size_t>(sequence.length));
    text.remove_prefix(bytes.size());
    if (sentence_piece) {
      spelled += bytes == "\xE2\x96\x81" ? " " : bytes;
      continue;
    }
    const bool character = sequence.kind == Utf8Sequence::Kind::kWellFormed;
    if (!character && !std::all_of(bytes.begin(), bytes.end(), has_token)) {
      bytes = kReplacementCharacter;
    }
    std::copy_if(bytes.begin(), bytes.end(), std::back_inserter(spelled), has_token);
  }
  return spelled;
}

// In the recordings of whole lines merges lead from "<0x0A>" and "<unk>" to a byte token and to the
// unknown token. In skald what a user typed stays text (docs/decisions/0012).
bool SpellsAToken(const Tokenizer& tokenizer, const std::string& text,
                  const std::vector<TokenId>& recorded) {
  if (text != "<0x0A>" && text != "<unk>") return false;
  const TokenType type = tokenizer.Type(recorded.back());
  return type == TokenType::kByte || type == TokenType::kUnknown;
}

void ExpectPairs(const Result<Tokenizer>& tokenizer, const std::vector<std::string>& texts,
                 const std::vector<std::vector<TokenId>>& expected) {
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  ASSERT_EQ(expected.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto ids = tokenizer->Encode(texts[i], {.boundary = BoundaryTokens::kNone});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    if (!SpellsAToken(*tokenizer, texts[i], expected[i])) {
      EXPECT_EQ(*ids, expected[i]) << "text " << i << ": '" << texts[i] << "'";
    }
    EXPECT_EQ(tokenizer->DecodeBytes(*ids), Spelled(*tokenizer, texts[i])) << "text " << i;
  }
}

// The name of a test's instance.
std::string VocabularyName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' || c == '/' ? '_' : c;
  return name;
}

class TokenizerPairs : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerPairs, EveryPairIsExactAndDecodesToItself) {
  const std::string folder = SKALD_SOURCE_DIR "/tests/data/tokenizers/";
  const std::string name = GetParam();
  const std::vector<std::string> texts = SplitTexts(ReadAll(folder + "texts.txt"), "\n__text__\n");
  ASSERT_EQ(texts.size(), 75u);
  const bool bytes = name != "sentencepiece";
  ExpectPairs(
      Load(folder + (bytes ? "byte-level.gguf" : "sentencepiece.gguf"), {.pre = bytes ? name : ""}),
      texts, SplitIds(ReadAll(folder + name + ".ids")));
}

INSTANTIATE_TEST_SUITE_P(Compact, TokenizerPairs,
                         testing::Values("sentencepiece", "default", "gpt-2", "dbrx", "llama-bpe",
                                         "qwen2", "smollm", "tekken", "gpt-4o", "deepseek-llm",
                                         "deepseek-coder", "deepseek-v3"),
                         VocabularyName);

// What a clone has of the families: one vocabulary of each kind, and the ids of each rule.
std::string Compact(const std::string& file) {
  return SKALD_SOURCE_DIR "/tests/data/tokenizers/families/" + file;
}

class TokenizerFamilies : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerFamilies, EveryPairIsExactAndDecodesToItself) {
  const std::vector<std::string> texts = SplitTexts(ReadAll(Compact("texts.txt")), kMarker);
  ASSERT_EQ(texts.size(), 417u);
  ExpectPairs(Load(Compact("byte-level.gguf"), {.pre = GetParam()}), texts,
              SplitIds(ReadAll(Compact(std::string(GetParam()) + ".ids"))));
}

INSTANTIATE_TEST_SUITE_P(Compact, TokenizerFamilies,
                         testing::Values("afmoe", "bailingmoe", "bloom", "chameleon", "dbrx",
                                         "deepseek-coder", "deepseek-llm", "deepseek-v3", "default",
                                         "exaone-moe", "falcon", "gpt-2", "gpt-4o", "jais-2",
                                         "kimi-k2", "laguna", "llama-bpe", "minicpm5", "qwen2",
                                         "qwen35", "seed-coder", "smollm", "superbpe", "tekken",
                                         "tiny_aya", "viking", "youtu"),
                         VocabularyName);

TEST(TokenizerFamiliesTest, WholeLinesAreExactAndDecodeToThemselves) {
  ExpectPairs(Load(Compact("gemma4.gguf")), SplitTexts(ReadAll(Compact("texts.txt")), kMarker),
              SplitIds(ReadAll(Compact("gemma4.ids"))));
}

TEST(TokenizerFamiliesTest, TokenizersThatNormalizeAreExact) {
  const std::vector<std::string> texts = SplitTexts(ReadAll(Compact("texts.txt")), kMarker);
  const Reading usual = {.normalization = std::nullopt};
  const Reading qwen35 = {.pre = "qwen35", .normalization = std::nullopt};
  for (const auto& [file, reading, recorded] :
       {std::tuple("wordpiece-uncased.gguf", usual, "wordpiece-uncased.ids"),
        std::tuple("unigram.gguf", usual, "unigram.ids"),
        std::tuple("byte-level.gguf", qwen35, "qwen35.nfc.ids")}) {
    const Result<Tokenizer> tokenizer = Load(Compact(file), reading);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    const auto expected = SplitIds(ReadAll(Compact(recorded)));
    ASSERT_EQ(expected.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(*tokenizer->Encode(texts[i], {.boundary = BoundaryTokens::kNone}), expected[i])
          << file << ", text " << i << ": '" << texts[i] << "'";
    }
  }
}

class TokenizerPairsSharedData : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerPairsSharedData, EveryPairIsExactAndDecodesToItself) {
  const std::string path = support::SharedData("tokenizers/ggml-vocab-") + GetParam() + ".gguf";
  const std::vector<std::string> texts = SplitTexts(ReadAll(path + ".inp"), kMarker);
  ASSERT_EQ(texts.size(), 46u);
  ExpectPairs(Load(path), texts, SplitIds(ReadAll(path + ".out")));
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerPairsSharedData,
                         testing::Values("llama-spm", "llama-bpe", "gpt-2", "qwen2"),
                         VocabularyName);

// What the publisher's rule gives; what the peer gives where nothing else is recorded.
std::vector<std::vector<TokenId>> FamilyIds(const std::string& path) {
  const bool published = std::ifstream(path + ".pub.out").good();
  return SplitIds(ReadAll(path + (published ? ".pub.out" : ".out")));
}

std::vector<std::string> FamilyTexts(const std::string& path) {
  std::vector<std::string> texts = SplitTexts(ReadAll(path + ".inp"), kMarker);
  EXPECT_GE(texts.size(), 417u);
  return texts;
}

std::string FamilyPath(const std::string& name) {
  return support::SharedData("tokenizers/families/") + name + ".gguf";
}

class TokenizerFamilySharedData : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerFamilySharedData, EveryPairIsExactAndDecodesToItself) {
  const std::string path = FamilyPath(GetParam());
  ExpectPairs(Load(path), FamilyTexts(path), FamilyIds(path));
}

TEST_P(TokenizerFamilySharedData, WhateverBytesComeBack) {
  const std::string path = FamilyPath(GetParam());
  const Result<Tokenizer> tokenizer = Load(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  std::vector<std::string> texts = SplitTexts(ReadAll(path + ".bytes.inp"), kMarker);
  ASSERT_GE(texts.size(), 10u);
  uint64_t random = 1;
  for (size_t length = 0; length < 200; ++length) {
    std::string& text = texts.emplace_back();
    while (text.size() < length) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      // Bytes of all kinds, and characters that rules ask for.
      const auto kind = (random >> 33) % 8;
      if (kind < 3) text += static_cast<char>(random >> 40);
      if (kind >= 3 && kind < 6) text += " \n\r\t'sS0129aZ.!/"[(random >> 40) % 16];
      if (kind >= 6) AppendUtf8(static_cast<uint32_t>(random >> 40) % 0xD800, &text);
    }
  }
  for (const std::string& text : texts) {
    const auto ids = tokenizer->Encode(text, {.boundary = BoundaryTokens::kNone});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(tokenizer->DecodeBytes(*ids), Spelled(*tokenizer, text));
  }
}

// The peer's recording: used where it splits a text as the publisher does.
TEST_P(TokenizerFamilySharedData, AddsAndParsesTheTokensThatTheFileAsksFor) {
  const std::string path = FamilyPath(GetParam());
  const std::vector<std::string> texts = FamilyTexts(path);
  const auto published = FamilyIds(path);
  const auto of_peer = SplitIds(ReadAll(path + ".out"));
  const auto expected = SplitIds(ReadAll(path + ".special.out"));
  const Result<Tokenizer> tokenizer = Load(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  ASSERT_EQ(expected.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    // The vocabularies of whole lines call this end marker normal, though no merge forms it.
    const bool marker = HasByteTokens(*tokenizer) && tokenizer->model_name() != "llama" &&
                        texts[i] == "a<|endoftext|>b";
    if (published[i] != of_peer[i] || marker) continue;
    if (SpellsAToken(*tokenizer, texts[i], published[i])) continue;
    const auto ids = tokenizer->Encode(texts[i], {.special = SpecialTokens::kParse});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, expected[i]) << "text " << i << ": '" << texts[i] << "'";
  }
}

INSTANTIATE_TEST_SUITE_P(
    ByteLevel, TokenizerFamilySharedData,
    testing::Values(
        "real/cl100k-32000", "real/falcon", "synthetic/afmoe", "synthetic/bailingmoe",
        "synthetic/bloom", "synthetic/chameleon", "synthetic/command-r", "synthetic/dbrx",
        "synthetic/deepseek-coder", "synthetic/deepseek-llm", "synthetic/deepseek-v3",
        "synthetic/default", "synthetic/exaone", "synthetic/exaone-moe", "synthetic/exaone4",
        "synthetic/falcon", "synthetic/falcon3", "synthetic/glm4", "synthetic/gpt-2",
        "synthetic/gpt-4o", "synthetic/granite-embed-multi-97m", "synthetic/hunyuan",
        "synthetic/hunyuan-dense", "synthetic/jais-2", "synthetic/jina-v2-code",
        "synthetic/kimi-k2", "synthetic/laguna", "synthetic/lfm2", "synthetic/llama-bpe",
        "synthetic/llama4", "synthetic/minicpm5", "synthetic/minimax-m2", "synthetic/modern-bert",
        "synthetic/mpt", "synthetic/olmo", "synthetic/pixtral", "synthetic/qwen2",
        "synthetic/qwen35", "synthetic/refact", "synthetic/roberta-bpe", "synthetic/seed-coder",
        "synthetic/smollm", "synthetic/stablelm2", "synthetic/starcoder", "synthetic/superbpe",
        "synthetic/tekken", "synthetic/tiny_aya", "synthetic/viking", "synthetic/youtu"),
    VocabularyName);

// By default the text is normalized where the publisher asks for it.
class ComposingTokenizerSharedData : public testing::TestWithParam<const char*> {};

TEST_P(ComposingTokenizerSharedData, EveryPairOfTheNormalizedTextIsExact) {
  const std::string path = FamilyPath(GetParam());
  const std::vector<std::string> texts = FamilyTexts(path);
  const bool separate = std::ifstream(path + ".nfc.out").good();
  const auto expected = SplitIds(ReadAll(path + (separate ? ".nfc.out" : ".pub.out")));
  const Result<Tokenizer> tokenizer = Load(path, {.normalization = std::nullopt});
  const Result<Tokenizer> plain = Load(path);
  ASSERT_TRUE(tokenizer.ok() && plain.ok());
  ASSERT_EQ(expected.size(), texts.size());
  size_t changed = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto ids = tokenizer->Encode(texts[i], {.boundary = BoundaryTokens::kNone});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, expected[i]) << "text " << i << ": '" << texts[i] << "'";
    changed += *ids != *plain->Encode(texts[i], {.boundary = BoundaryTokens::kNone}) ? 1 : 0;
  }
  EXPECT_GE(changed, 10u);
}

INSTANTIATE_TEST_SUITE_P(ByteLevel, ComposingTokenizerSharedData,
                         testing::Values("real/olmo", "synthetic/qwen2", "synthetic/qwen35"),
                         VocabularyName);

// Their tokenizers normalize: what comes back is another text.
class NormalizingTokenizerSharedData : public testing::TestWithParam<const char*> {};

TEST_P(NormalizingTokenizerSharedData, EveryPairIsExact) {
  const std::string path = FamilyPath(GetParam());
  const std::vector<std::string> texts = FamilyTexts(path);
  const auto published = FamilyIds(path);
  const auto of_peer = SplitIds(ReadAll(path + ".out"));
  const auto with_specials = SplitIds(ReadAll(path + ".special.out"));
  const Result<Tokenizer> tokenizer = Load(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  ASSERT_EQ(published.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(*tokenizer->Encode(texts[i], {.boundary = BoundaryTokens::kNone}), published[i])
        << "text " << i << ": '" << texts[i] << "'";
    if (published[i] != of_peer[i]) continue;
    EXPECT_EQ(*tokenizer->Encode(texts[i], {.special = SpecialTokens::kParse}), with_specials[i])
        << "text " << i << ": '" << texts[i] << "'";
  }
}

// Ill-formed bytes are U+FFFD to these, as to their publishers.
TEST_P(NormalizingTokenizerSharedData, IllFormedTextsAreThoseOfTheRecording) {
  const std::string path = FamilyPath(GetParam());
  const std::vector<std::string> texts = SplitTexts(ReadAll(path + ".bytes.inp"), kMarker);
  const auto expected = SplitIds(ReadAll(path + ".bytes.out"));
  const Result<Tokenizer> tokenizer = Load(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  ASSERT_EQ(expected.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(*tokenizer->Encode(texts[i], {.boundary = BoundaryTokens::kNone}), expected[i])
        << "text " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(WordPiece, NormalizingTokenizerSharedData,
                         testing::Values("real/bert-bge", "synthetic/wordpiece-cased",
                                         "synthetic/wordpiece-cased-stripaccents",
                                         "synthetic/wordpiece-lower-keepaccents",
                                         "synthetic/wordpiece-uncased"),
                         VocabularyName);

INSTANTIATE_TEST_SUITE_P(Unigram, NormalizingTokenizerSharedData,
                         testing::Values("real/unigram-en", "real/unigram-en-identity",
                                         "real/unigram-en-keepspaces", "real/unigram-en-noprefix",
                                         "real/unigram-en-userdefined", "real/unigram-ja"),
                         VocabularyName);

INSTANTIATE_TEST_SUITE_P(WholeLines, TokenizerFamilySharedData,
                         testing::Values("synthetic/gemma4", "synthetic/granite-embed-multi-311m",
                                         "synthetic/sarvam-moe"),
                         VocabularyName);

INSTANTIATE_TEST_SUITE_P(SentencePiece, TokenizerFamilySharedData, testing::Values("real/phi-3"),
                         VocabularyName);

// Pairs that llama.cpp ships for vocabularies that lie beside: the peer's ids.
TEST(UpstreamPairsSharedData, EveryPairIsExact) {
  for (const std::string name : {"bert-bge", "falcon", "phi-3"}) {
    const std::string path =
        support::SharedData("tokenizers/families/upstream/ggml-vocab-") + name + ".gguf";
    const std::vector<std::string> texts = SplitTexts(ReadAll(path + ".inp"), kMarker);
    const auto expected = SplitIds(ReadAll(path + ".out"));
    const Result<Tokenizer> tokenizer = Load(FamilyPath("real/" + name));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    ASSERT_EQ(texts.size(), 46u);
    ASSERT_EQ(expected.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(*tokenizer->Encode(texts[i], {.boundary = BoundaryTokens::kNone}), expected[i])
          << name << ", text " << i << ": '" << texts[i] << "'";
    }
  }
}

// Names without a recording of their own, each the same rule as another.
TEST(TokenizerAliasesSharedData, EachGivesTheIdsOfTheNameItStandsFor) {
  std::istringstream lines(ReadAll(support::SharedData("tokenizers/families/aliases.txt")));
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find(" = ");
    if (line.starts_with('#') || equals == std::string::npos) continue;
    const std::string path = FamilyPath("synthetic/" + line.substr(equals + 3));
    SCOPED_TRACE(line);
    ExpectPairs(Load(path, {.pre = line.substr(0, equals)}), FamilyTexts(path), FamilyIds(path));
    ++count;
  }
  EXPECT_EQ(count, 36u);
}

}  // namespace
}  // namespace skald::load
