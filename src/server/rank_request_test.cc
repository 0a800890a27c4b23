#include "server/rank_request.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <cmath>
#include <utility>

#include "server/rank_writer.h"

namespace skald::server {
namespace {

using Texts = std::vector<std::string>;
using Reader = OrError<RankRequest>(const boost::json::value&);

RankRequest Good(Reader* read, std::string_view json) {
  auto request = read(boost::json::parse(json));
  const auto* error = std::get_if<ApiError>(&request);
  EXPECT_EQ(error, nullptr) << json << ": " << (error == nullptr ? "" : error->message);
  return error == nullptr ? std::get<RankRequest>(std::move(request)) : RankRequest{};
}

// "PARAM: MESSAGE" of the refusal.
std::string Refusal(Reader* read, std::string_view json) {
  const auto request = read(boost::json::parse(json));
  const auto* error = std::get_if<ApiError>(&request);
  if (error == nullptr) return "taken";
  EXPECT_EQ(error->status, 400);
  return error->param + ": " + error->message;
}

std::string List(size_t count, const std::string& text) {
  std::string json = "[\"" + text + '"';
  for (size_t i = 1; i < count; ++i) json += ",\"" + text + '"';
  return json + ']';
}

TEST(RankRequest, DocumentsAreTextsOrObjectsWithATextEach) {
  const RankRequest request =
      Good(ReadRerankRequest,
           R"({"query": "q", "documents": ["a", {"text": "b", "title": "t"}], "frobnicate": 1})");
  EXPECT_EQ(request.answer, RankAnswer::kResults);
  EXPECT_EQ(request.queries, Texts{"q"});
  EXPECT_EQ(request.documents, (Texts{"a", "b"}));
  EXPECT_EQ(request.query(1), "q");
  EXPECT_FALSE(request.return_documents);
  EXPECT_FALSE(request.raw_scores);
  EXPECT_EQ(request.ignored, Texts{"frobnicate"});
  EXPECT_EQ(Good(ReadRerankRequest, R"({"query": {"text": "q"}, "documents": "a"})").documents,
            Texts{"a"});
}

TEST(RankRequest, QueryAndDocumentsAreNeededAndNotEmpty) {
  EXPECT_EQ(Refusal(ReadRerankRequest, R"({"documents": ["a"]})"), "query: query is missing");
  EXPECT_EQ(Refusal(ReadRerankRequest, R"({"query": "q"})"), "documents: documents is missing");
  for (const char* bad : {"[]", R"([""])", R"(["a", ""])", "5", "{}", R"(["a", 5])", "true",
                          R"({"text": 5})", R"({"text": ""})", R"([["a"]])"}) {
    const std::string json = std::string(R"({"query": "q", "documents": )") + bad + "}";
    EXPECT_EQ(Refusal(ReadRerankRequest, json).substr(0, 10), "documents:") << bad;
  }
  EXPECT_EQ(Refusal(ReadRerankRequest, R"({"query": ["a", "b"], "documents": ["a", "b"]})"),
            "query: query is an array of several texts, expected one");
  EXPECT_EQ(Refusal(ReadRerankRequest, R"({"query": "", "documents": ["a"]})").substr(0, 6),
            "query:");
}

TEST(RankRequest, PairsAreBoundedInNumberAndInBytesTogether) {
  const auto ask = [](const std::string& query, const std::string& documents) {
    return R"({"query": ")" + query + R"(", "documents": )" + documents + "}";
  };
  EXPECT_EQ(Good(ReadRerankRequest, ask("q", List(kMaxPairs, "a"))).documents.size(), kMaxPairs);
  EXPECT_EQ(Refusal(ReadRerankRequest, ask("q", List(kMaxPairs + 1, "a"))).substr(0, 10),
            "documents:");
  // The query counts once for each document.
  const std::string query(kMaxPairBytes / 1024 - 1, 'q');
  EXPECT_EQ(Good(ReadRerankRequest, ask(query, List(1024, "a"))).documents.size(), 1024);
  EXPECT_EQ(Refusal(ReadRerankRequest, ask(query + "q", List(1024, "a"))),
            "documents: the pairs have 8389632 bytes of text together, expected at most 8388608: "
            "ask for fewer documents at a time");
}

TEST(RankRequest, TopAndDocumentsAndScale) {
  const auto good = [](const std::string& more) {
    return Good(ReadRerankRequest, R"({"query": "q", "documents": ["a", "b"], )" + more + "}");
  };
  EXPECT_EQ(good(R"("top_n": 1)").top, 1);
  EXPECT_TRUE(good(R"("return_documents": true)").return_documents);
  EXPECT_TRUE(good(R"("raw_scores": true)").raw_scores);
  EXPECT_TRUE(good(R"("use_activation": false)").raw_scores);
  EXPECT_FALSE(good(R"("use_activation": true)").raw_scores);
  EXPECT_EQ(good(R"("user": "me", "cache_salt": "s", "model": "m")").cache_salt, "s");
  const auto refusal = [](const std::string& more) {
    return Refusal(ReadRerankRequest, R"({"query": "q", "documents": ["a"], )" + more + "}");
  };
  EXPECT_EQ(refusal(R"("top_n": 0)").substr(0, 6), "top_n:");
  EXPECT_EQ(refusal(R"("top_n": "2")").substr(0, 6), "top_n:");
  EXPECT_EQ(refusal(R"("return_documents": 1)").substr(0, 17), "return_documents:");
  EXPECT_EQ(refusal(R"("truncate_prompt_tokens": 5)").substr(0, 5), "trunc");
  EXPECT_EQ(refusal(R"("max_tokens_per_doc": 5)").substr(0, 19), "max_tokens_per_doc:");
}

TEST(RankRequest, ScoresAreOfOneTextAndManyOrOfAsMany) {
  const RankRequest one = Good(ReadScoreRequest, R"({"text_1": "a", "text_2": ["b", "c"]})");
  EXPECT_EQ(one.answer, RankAnswer::kScores);
  EXPECT_EQ(one.query(1), "a");
  const RankRequest both =
      Good(ReadScoreRequest, R"({"text_1": ["a", "b"], "text_2": ["c", "d"]})");
  EXPECT_EQ(both.query(1), "b");
  EXPECT_EQ(both.documents[1], "d");
  EXPECT_EQ(Refusal(ReadScoreRequest, R"({"text_1": ["a", "b"], "text_2": ["c"]})"),
            "text_1: text_1 has 2 texts and text_2 1: expected one in text_1, or as many in both");
  EXPECT_EQ(Refusal(ReadScoreRequest, R"({"text_1": "a"})"), "text_2: text_2 is missing");
  for (const char* bad : {"[]", "5", "null", R"({"query": "q"})"})
    EXPECT_NE(Refusal(ReadScoreRequest, bad), "taken") << bad;
}

// A request whose answer has the scores as they are.
RankRequest Documents(Texts documents) {
  RankRequest request;
  request.queries = {"q"};
  request.documents = std::move(documents);
  request.raw_scores = true;
  return request;
}

TEST(RankWriter, TheBestComesFirstAndOfEqualOnesTheEarlier) {
  const RankWriter writer(Documents({"a", "b", "c", "d"}));
  EXPECT_EQ(writer.List({{-1}, {2}, {0.5f}, {2}}),
            Texts{R"([{"index":1,"relevance_score":2},{"index":3,"relevance_score":2},)"
                  R"({"index":2,"relevance_score":0.5},{"index":0,"relevance_score":-1}])"});
}

TEST(RankWriter, DocumentsStandInTheResultsThatAreWanted) {
  RankRequest request = Documents({"a", "\"b\"\n"});
  request.top = 1;
  request.return_documents = true;
  const RankWriter writer(std::move(request));
  const Texts pieces = writer.List({{1}, {2}});
  EXPECT_EQ(pieces, Texts{R"([{"index":1,"document":{"text":"\"b\"\n"},"relevance_score":2}])"});
  EXPECT_LE(static_cast<int64_t>(pieces[0].size()), writer.bytes() + 2);
}

TEST(RankWriter, ScoresKeepTheirOrder) {
  RankRequest request = Documents({"a", "b"});
  request.answer = RankAnswer::kScores;
  const RankWriter writer(std::move(request));
  EXPECT_EQ(writer.List({{1}, {2}}), Texts{R"([{"index":0,"object":"score","score":1},)"
                                           R"({"index":1,"object":"score","score":2}])"});
}

// Scores that one relevance cannot tell apart still come in their order.
TEST(RankWriter, RelevancesAreTheSigmoidOfScores) {
  EXPECT_EQ(Relevance(0), 0.5);
  EXPECT_NEAR(Relevance(-2.5f), 1 / (1 + std::exp(2.5)), 1e-15);
  EXPECT_EQ(Relevance(3e38f), 1);
  EXPECT_EQ(Relevance(-3e38f), 0);
  RankRequest request = Documents({"a", "b"});
  request.raw_scores = false;
  const RankWriter writer(std::move(request));
  EXPECT_EQ(writer.List({{50}, {60}}),
            Texts{R"([{"index":1,"relevance_score":1},{"index":0,"relevance_score":1}])"});
}

}  // namespace
}  // namespace skald::server
