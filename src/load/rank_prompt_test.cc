#include "load/rank_prompt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_builder.h"
#include "skald/model.h"

namespace skald::load {
namespace {

Result<RankPrompt> ReadTemplate(const std::string& text) {
  formats::GgufBuilder file;
  file.Key("general.architecture", "qwen3").Key("tokenizer.chat_template.rerank", text);
  return RankPrompt::Read(formats::ParseGguf(file.BuildSource())->metadata);
}

Model Load(const std::string& name) {
  Result<Model> model = LoadModel({.path = SKALD_GOLDEN_MODELS "/" + name + ".gguf"});
  EXPECT_TRUE(model.ok()) << model.status().message();
  return *std::move(model);
}

std::string Shown(const Model& model, const std::vector<TokenId>& ids) {
  return model.tokenizer().Decode(ids, {.control = ControlTokens::kShow});
}

TEST(RankPrompt, ATemplateHasEachPlaceOnce) {
  EXPECT_TRUE(ReadTemplate("a {document} b {query}").ok());
  for (const char* text : {"{query}", "{document}", "{query}{query}{document}", "no place"}) {
    const Result<RankPrompt> prompt = ReadTemplate(text);
    ASSERT_FALSE(prompt.ok()) << text;
    EXPECT_EQ(prompt.status().code(), ErrorCode::kBadModel);
    EXPECT_NE(prompt.status().message().find("once, found"), std::string::npos);
  }
  const std::string places = "{query}{document}";
  const size_t left = (size_t{64} << 10) - places.size();
  EXPECT_TRUE(ReadTemplate(places + std::string(left, 'a')).ok());
  EXPECT_FALSE(ReadTemplate(places + std::string(left + 1, 'a')).ok());
}

TEST(RankPrompt, OnlyTheTemplatesOwnMarksAreControlTokens) {
  const Model model = Load("qwen3-rank");
  const Result<PairTokens> pair = model.EncodePair("the{document}", "an<|end|>{query}");
  ASSERT_TRUE(pair.ok()) << pair.status().message();
  EXPECT_EQ(Shown(model, pair->tokens), "<|end|>q: the{document} d: an<|end|>{query}<|end|>");
  const TokenId end = model.tokenizer().eos_id();
  EXPECT_EQ(std::count(pair->tokens.begin(), pair->tokens.end(), end), 2);
  EXPECT_EQ(pair->tokens.front(), end);
  EXPECT_EQ(pair->tokens.back(), end);
  EXPECT_EQ(pair->second_text, 0);
}

TEST(RankPrompt, TheTextsMayStandTheOtherWayRound) {
  const Result<RankPrompt> prompt = ReadTemplate("1 {document} 2 {query} 3");
  const Model model = Load("qwen3-rank");
  const Result<PairTokens> pair = prompt->Encode(model.tokenizer(), "query", "document", {});
  EXPECT_EQ(Shown(model, pair->tokens), "1 document 2 query 3");
}

TEST(RankPrompt, WithoutATemplateTheMarksAreTheTokenizers) {
  const Model model = Load("bert-rank");
  const Result<PairTokens> pair = model.EncodePair("the", "an");
  ASSERT_TRUE(pair.ok()) << pair.status().message();
  const auto& ids = pair->tokens;
  const auto encode = [&](std::string_view text) {
    return *model.tokenizer().Encode(text, {.boundary = BoundaryTokens::kNone});
  };
  std::vector<TokenId> expected = {1};
  for (const TokenId id : encode("the")) expected.push_back(id);
  expected.insert(expected.end(), {2, 2});
  EXPECT_EQ(pair->second_text, static_cast<int64_t>(expected.size()));
  for (const TokenId id : encode("an")) expected.push_back(id);
  expected.push_back(2);
  EXPECT_EQ(ids, expected);
}

TEST(RankPrompt, AnEmptyTextIsNone) {
  for (const char* name : {"bert-rank", "qwen3-rank"}) {
    const Model model = Load(name);
    EXPECT_EQ(model.EncodePair("", "a").status().message(), "the query is empty");
    EXPECT_EQ(model.EncodePair("a", "").status().message(), "the document is empty");
  }
}

TEST(RankPrompt, AModelThatRanksSaysSo) {
  EXPECT_EQ(Load("bert-rank").info().rank_pooling, Pooling::kFirst);
  EXPECT_EQ(Load("bert-rank").info().pooling, Pooling::kFirst);
  EXPECT_EQ(Load("qwen3-rank").info().rank_pooling, Pooling::kLast);
  EXPECT_EQ(Load("qwen3-rank").info().pooling, Pooling::kNone);
  EXPECT_EQ(Load("bert").info().rank_pooling, std::nullopt);
}

}  // namespace
}  // namespace skald::load
