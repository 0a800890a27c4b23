// Pairs of text and token ids, without BOS: texts separated by a marker line in one file, the ids
// of each on a line in another. Those in tests/data/tokenizers are of a slow and obvious tokenizer
// in Python, with two small vocabularies (tests/tokenizers); those beside the checkout are the
// published ones that llama.cpp's own tests use, for the vocabularies of four models.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "formats/gguf.h"
#include "load/tokenizer_from_gguf.h"
#include "support/shared_data.h"

namespace skald::load {
namespace {

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

// The tokenizer of a file; of a byte-level one with another pre-tokenizer, if one is named.
Result<Tokenizer> Load(const std::string& path, const std::string& pre = {}) {
  Result<File> file = File::Open(path);
  if (!file.ok()) return std::move(file).status();
  Result<formats::GgufFile> gguf = formats::ParseGguf(*file);
  if (!gguf.ok()) return std::move(gguf).status();
  Result<text::TokenizerSpec> spec = TokenizerSpecFromMetadata(gguf->metadata);
  if (!spec.ok()) return std::move(spec).status();
  if (!pre.empty()) spec->pre = pre;
  return Tokenizer::Create(*spec);
}

void ExpectPairs(const Result<Tokenizer>& tokenizer, const std::vector<std::string>& texts,
                 const std::vector<std::vector<TokenId>>& expected) {
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  ASSERT_EQ(expected.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto ids = tokenizer->Encode(texts[i], {.boundary = BoundaryTokens::kNone});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, expected[i]) << "text " << i << ": '" << texts[i] << "'";
    EXPECT_EQ(tokenizer->DecodeBytes(*ids), texts[i]) << "text " << i;
  }
}

// The name of a test's instance.
std::string VocabularyName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

class TokenizerPairs : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerPairs, EveryPairIsExactAndDecodesToItself) {
  const std::string folder = SKALD_SOURCE_DIR "/tests/data/tokenizers/";
  const std::string name = GetParam();
  const std::vector<std::string> texts = SplitTexts(ReadAll(folder + "texts.txt"), "\n__text__\n");
  ASSERT_EQ(texts.size(), 75u);
  const bool bytes = name != "sentencepiece";
  ExpectPairs(Load(folder + (bytes ? "byte-level.gguf" : "sentencepiece.gguf"), bytes ? name : ""),
              texts, SplitIds(ReadAll(folder + name + ".ids")));
}

INSTANTIATE_TEST_SUITE_P(Compact, TokenizerPairs,
                         testing::Values("sentencepiece", "default", "gpt-2", "dbrx", "llama-bpe",
                                         "qwen2", "smollm", "tekken", "gpt-4o", "deepseek-llm",
                                         "deepseek-coder", "deepseek-v3"),
                         VocabularyName);

class TokenizerPairsSharedData : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerPairsSharedData, EveryPairIsExactAndDecodesToItself) {
  const std::string path = support::SharedData("tokenizers/ggml-vocab-") + GetParam() + ".gguf";
  const std::vector<std::string> texts =
      SplitTexts(ReadAll(path + ".inp"), "\n__ggml_vocab_test__\n");
  ASSERT_EQ(texts.size(), 46u);
  ExpectPairs(Load(path), texts, SplitIds(ReadAll(path + ".out")));
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerPairsSharedData,
                         testing::Values("llama-spm", "llama-bpe", "gpt-2", "qwen2"),
                         VocabularyName);

}  // namespace
}  // namespace skald::load
