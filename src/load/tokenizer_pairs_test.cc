// The published pairs of text and token ids that llama.cpp's own tests use, for the vocabularies
// of four models. Each .inp file holds texts separated by a marker line, the .out file the ids of
// each on a line, without BOS.

#include <gtest/gtest.h>

#include <chrono>
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

std::vector<std::string> SplitTexts(const std::string& content) {
  constexpr std::string_view kMarker = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  size_t at = 0;
  for (size_t end = content.find(kMarker); end != std::string::npos;
       end = content.find(kMarker, at)) {
    texts.push_back(content.substr(at, end - at));
    at = end + kMarker.size();
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

Result<Tokenizer> Load(const std::string& path) {
  Result<File> file = File::Open(path);
  if (!file.ok()) return std::move(file).status();
  Result<formats::GgufFile> gguf = formats::ParseGguf(*file);
  if (!gguf.ok()) return std::move(gguf).status();
  return TokenizerFromMetadata(gguf->metadata);
}

class TokenizerPairsSharedData : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerPairsSharedData, EveryPairIsExactAndDecodesToItself) {
  const std::string path = support::SharedData("tokenizers/ggml-vocab-") + GetParam() + ".gguf";
  const Result<Tokenizer> tokenizer = Load(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const std::vector<std::string> texts = SplitTexts(ReadAll(path + ".inp"));
  const std::vector<std::vector<TokenId>> expected = SplitIds(ReadAll(path + ".out"));
  ASSERT_EQ(texts.size(), 46u);
  ASSERT_EQ(expected.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto ids = tokenizer->Encode(texts[i], {.boundary = BoundaryTokens::kNone});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, expected[i]) << "text " << i << ": '" << texts[i] << "'";
    EXPECT_EQ(tokenizer->DecodeBytes(*ids), texts[i]) << "text " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerPairsSharedData,
                         testing::Values("llama-spm", "llama-bpe", "gpt-2", "qwen2"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace skald::load
