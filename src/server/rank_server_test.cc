// Models that rank, over HTTP.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/test_server.h"

namespace skald::server {
namespace {

class RankServer : public testing::TestWithParam<const char*> {
 protected:
  static Model Load(const std::string& name) {
    return *LoadModel({.path = SKALD_GOLDEN_MODELS "/" + name + ".gguf"});
  }
  static Engine MakeFor(const Model& model, EngineOptions options = {}) {
    options.threads = 1;
    return *Engine::Create(model, options);
  }

  Model model_ = Load(GetParam());
};

constexpr std::string_view kBody =
    R"({"query":"where is the hen","documents":["in the barn","an inner thing",)"
    R"({"text":"there"}],"return_documents":true})";

std::string Ok(const std::string& answer) {
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  return BodyOf(answer);
}

// The numbers behind every `name`.
std::vector<double> Numbers(std::string_view json, const std::string& name) {
  const std::string key = "\"" + name + "\":";
  std::vector<double> numbers;
  for (size_t at = json.find(key); at != std::string_view::npos; at = json.find(key, at + 1))
    numbers.push_back(std::stod(std::string(json.substr(at + key.size(), 30))));
  return numbers;
}

TEST_P(RankServer, RanksDocumentsTheBestFirst) {
  const Running server(model_, MakeFor(model_), {});
  const std::string answer = Ok(Ask(server.port(), Post("/v1/rerank", kBody)));
  EXPECT_TRUE(answer.starts_with(R"({"object":"list","results":[{"index":)")) << answer;
  const std::vector<double> relevances = Numbers(answer, "relevance_score");
  ASSERT_EQ(relevances.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GT(relevances[i], 0);
    EXPECT_LT(relevances[i], 1);
    if (i > 0) {
      EXPECT_LE(relevances[i], relevances[i - 1]);
    }
  }
  EXPECT_EQ(Texts(answer, "text").size(), std::string("in the barnan inner thingthere").size());
  EXPECT_EQ(Member(answer, "total_tokens"), Member(answer, "prompt_tokens"));
  EXPECT_TRUE(Texts(answer, "id").starts_with("rerank-")) << answer;
  for (const char* path : {"/rerank", "/v2/rerank"})
    EXPECT_EQ(Numbers(Ok(Ask(server.port(), Post(path, kBody))), "relevance_score"), relevances);
}

// The scores of the pairs, alone and in a list, are those of the ranking.
TEST_P(RankServer, ScoresPairsInTheirOrder) {
  const Running server(model_, MakeFor(model_), {});
  const std::string both =
      Ok(Ask(server.port(),
             Post("/v1/score", R"({"text_1":"the hen","text_2":["there","in the barn"]})")));
  EXPECT_TRUE(both.starts_with(R"({"object":"list","data":[{"index":0,"object":"score","score":)"));
  const std::vector<double> scores = Numbers(both, "score");
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_NE(scores[0], scores[1]);
  const std::string one =
      Ok(Ask(server.port(), Post("/score", R"({"text_1":["the hen"],"text_2":"in the barn"})")));
  EXPECT_EQ(Numbers(one, "score"), std::vector<double>{scores[1]});
  const std::string turned =
      Ok(Ask(server.port(),
             Post("/v1/score", R"({"text_1":["there","the hen"],"text_2":["the hen","there"]})")));
  EXPECT_EQ(Numbers(turned, "score")[1], scores[0]);
  EXPECT_NE(Numbers(turned, "score")[0], scores[0]) << "the order of the two matters";
}

TEST_P(RankServer, RanksALongListThroughAShortQueue) {
  const Running server(model_, MakeFor(model_, {.max_running = 2, .max_queued = 3}), {});
  std::string list = R"({"query":"the hen","top_n":7,"documents":["a")";
  for (int i = 0; i < 200; ++i) list += R"(,"the hen )" + std::to_string(i) + "\"";
  const std::string answer = Ok(Ask(server.port(), Post("/v1/rerank", list + "]}")));
  EXPECT_EQ(Numbers(answer, "relevance_score").size(), 7u);
}

TEST_P(RankServer, EmbedsNothingUnlessAskedTo) {
  const Running server(model_, MakeFor(model_), {.pooling = Pooling::kNone});
  const std::string answer = Ask(server.port(), Post("/v1/embeddings", R"({"input":"a"})"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 "));
  EXPECT_NE(answer.find("this model ranks texts"), std::string::npos) << answer;
}

TEST_P(RankServer, GeneratesNothing) {
  const Running server(model_, MakeFor(model_), {});
  const std::string answer = Complete(server.port(), R"({"prompt":"the"})");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 "));
  EXPECT_NE(answer.find("this model ranks texts; it does not generate"), std::string::npos);
}

TEST_P(RankServer, MalformedAndTooLongBodiesAre400) {
  const Running server(model_, MakeFor(model_, {.context = 32}), {});
  const std::string words(400, 'x');
  for (const std::string& body :
       {std::string("{}"), std::string("["), std::string(R"({"query":"a","documents":[]})"),
        std::string(R"({"query":"a","documents":[1]})"),
        R"({"query":"a","documents":["b",")" + words + R"("]})",
        R"({"query":")" + words + R"(","documents":["b"]})"}) {
    const std::string answer = Ask(server.port(), Post("/v1/rerank", body));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << body << answer;
  }
  const std::string answer =
      Ask(server.port(), Post("/v1/score", R"({"text_1":"a","text_2":")" + words + R"("})"));
  EXPECT_NE(answer.find("context_length_exceeded"), std::string::npos) << answer;
}
INSTANTIATE_TEST_SUITE_P(Models, RankServer, testing::Values("bert-rank", "qwen3-rank"));

TEST(RankServerOfTales, AModelWithoutAHeadSaysSo) {
  const Running server;
  for (const char* path : {"/v1/rerank", "/rerank", "/v2/rerank"}) {
    const std::string answer = Ask(server.port(), Post(path, kBody));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_NE(answer.find("this model does not rank texts"), std::string::npos) << answer;
  }
  EXPECT_TRUE(Ask(server.port(), Post("/v1/score", R"({"text_1":"a","text_2":"b"})"))
                  .starts_with("HTTP/1.1 400 "));
}

}  // namespace
}  // namespace skald::server
