#include "server/embedding_request.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "server/embedding_writer.h"

namespace skald::server {
namespace {

EmbeddingRequest Good(std::string_view json) {
  auto request = ReadEmbeddingRequest(boost::json::parse(json));
  const auto* error = std::get_if<ApiError>(&request);
  EXPECT_EQ(error, nullptr) << json << ": " << (error == nullptr ? "" : error->message);
  return std::get<EmbeddingRequest>(std::move(request));
}

// "PARAM: MESSAGE" of the refusal.
std::string Refusal(std::string_view json) {
  const auto request = ReadEmbeddingRequest(boost::json::parse(json));
  const auto* error = std::get_if<ApiError>(&request);
  if (error == nullptr) return "taken";
  EXPECT_EQ(error->status, 400);
  return error->param + ": " + error->message;
}

TEST(EmbeddingRequest, InputHasTheFourFormsOfAPrompt) {
  EXPECT_EQ(Good(R"({"input": "a"})").inputs, (std::vector<PromptInput>{"a"}));
  EXPECT_EQ(Good(R"({"input": ["a", "b"]})").inputs, (std::vector<PromptInput>{"a", "b"}));
  EXPECT_EQ(Good(R"({"input": [1, 2]})").inputs,
            (std::vector<PromptInput>{std::vector<TokenId>{1, 2}}));
  EXPECT_EQ(Good(R"({"input": [[1], [2, 3]]})").inputs,
            (std::vector<PromptInput>{std::vector<TokenId>{1}, std::vector<TokenId>{2, 3}}));
}

TEST(EmbeddingRequest, InputIsNeededAndNotEmpty) {
  EXPECT_EQ(Refusal("{}"), "input: input is missing");
  EXPECT_EQ(Refusal(R"({"input": ""})").substr(0, 6), "input:");
  for (const char* bad : {"[]", "[[]]", R"(["a", ""])", "5", "{}", R"(["a", 5])", "[-1]", "true"})
    EXPECT_EQ(Refusal(std::string(R"({"input": )") + bad + "}").substr(0, 6), "input:") << bad;
}

TEST(EmbeddingRequest, TakesAsManyInputsAsOpenAi) {
  const auto list = [](size_t count) {
    std::string json = R"({"input": ["a")";
    for (size_t i = 1; i < count; ++i) json += R"(,"a")";
    return json + "]}";
  };
  EXPECT_EQ(Good(list(kMaxEmbeddingInputs)).inputs.size(), kMaxEmbeddingInputs);
  EXPECT_EQ(Refusal(list(kMaxEmbeddingInputs + 1)).substr(0, 6), "input:");
}

TEST(EmbeddingRequest, FormAndDimensions) {
  EXPECT_EQ(Good(R"({"input": "a"})").form, VectorForm::kNumbers);
  EXPECT_EQ(Good(R"({"input": "a", "encoding_format": "float"})").form, VectorForm::kNumbers);
  EXPECT_EQ(Good(R"({"input": "a", "encoding_format": "base64"})").form, VectorForm::kBase64);
  EXPECT_EQ(Refusal(R"({"input": "a", "encoding_format": "hex"})"),
            "encoding_format: encoding_format is 'hex', expected float or base64");
  EXPECT_EQ(Good(R"({"input": "a"})").dimensions, std::nullopt);
  EXPECT_EQ(Good(R"({"input": "a", "dimensions": 64})").dimensions, 64);
  EXPECT_EQ(Refusal(R"({"input": "a", "dimensions": 0})").substr(0, 11), "dimensions:");
}

TEST(EmbeddingRequest, WhatNobodyKnowsIsReported) {
  EXPECT_EQ(Good(R"({"input": "a", "user": "me", "frobnicate": 1})").ignored,
            (std::vector<std::string>{"frobnicate"}));
  EXPECT_EQ(Refusal(R"({"input": "a", "truncate_prompt_tokens": 5})").substr(0, 5), "trunc");
}

TEST(EmbeddingsJson, NumbersReadBackAsTheSameFloats) {
  EXPECT_EQ(EmbeddingsJson({{2}, {0.1f, -1, 0, 1e-20f}}, VectorForm::kNumbers),
            (std::vector<std::string>{R"([{"object":"embedding","index":0,"embedding":[2]},)"
                                      R"({"object":"embedding","index":1,)"
                                      R"("embedding":[0.1,-1,0,1e-20]}])"}));
}

// python3: base64.b64encode(struct.pack("<3f", 1, -2, 0.5))
TEST(EmbeddingsJson, Base64IsOfTheBytesLowestFirst) {
  EXPECT_EQ(EmbeddingsJson({{1, -2, 0.5f}, {}}, VectorForm::kBase64),
            (std::vector<std::string>{
                R"([{"object":"embedding","index":0,"embedding":"AACAPwAAAMAAAAA/"},)"
                R"({"object":"embedding","index":1,"embedding":""}])"}));
}

}  // namespace
}  // namespace skald::server
