// Answers that are held to a grammar, over real sockets, with the bundled model.

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/test_client.h"
#include "server/test_server.h"
#include "skald/grammar.h"

namespace skald::server {
namespace {

constexpr std::string_view kPerson =
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":12},)"
    R"("age":{"type":"integer","minimum":0,"maximum":99},"tame":{"type":"boolean"}},)"
    R"("required":["name","age"],"additionalProperties":false})";

std::string Body(std::string_view members) {
  return R"({"prompt":"The fox","max_tokens":200,"seed":3,)" + std::string(members) + "}";
}

// The text of the first choice, unescaped.
std::string TextOf(const std::string& answer) {
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  const boost::json::value body = boost::json::parse(BodyOf(answer));
  return std::string(body.at("choices").at(0).at("text").get_string());
}

void ExpectFits(const Result<Grammar>& grammar, const std::string& text) {
  ASSERT_TRUE(grammar.ok());
  EXPECT_EQ(CheckText(*grammar, text).verdict, GrammarVerdict::kAccepted) << text;
}

TEST(StructuredOutput, AnswersByEveryNameOfASchema) {
  const Running server;
  const std::string schema(kPerson);
  const Result<Grammar> grammar = Grammar::FromJsonSchema(kPerson);
  for (const std::string& members :
       {R"("response_format":{"type":"json_schema","json_schema":{"name":"p","schema":)" + schema +
            "}}",
        R"("response_format":{"type":"json_object","schema":)" + schema + "}",
        R"("structured_outputs":{"json":)" + schema + "}", R"("guided_json":)" + schema,
        R"("json_schema":)" + schema})
    ExpectFits(grammar, TextOf(Complete(server.port(), Body(members))));
}

TEST(StructuredOutput, AnswersByExpressionsGrammarsAndChoices) {
  const Running server;
  const std::string regex = TextOf(
      Complete(server.port(), Body(R"("structured_outputs":{"regex":"[A-Z]{3}-[0-9]{2,4}"})")));
  ExpectFits(Grammar::FromRegex("[A-Z]{3}-[0-9]{2,4}"), regex);
  const std::string gbnf =
      TextOf(Complete(server.port(), Body(R"("grammar":"root ::= (\"a\" | \"bc\"){5} \"!\"")")));
  ExpectFits(Grammar::FromGbnf("root ::= (\"a\" | \"bc\"){5} \"!\""), gbnf);
  const std::string choice =
      TextOf(Complete(server.port(), Body(R"("guided_choice":["red","green","blue"])")));
  EXPECT_TRUE(choice == "red" || choice == "green" || choice == "blue") << choice;
}

// A text that must end takes no token for its end, and ends by itself.
TEST(StructuredOutput, EndsWhereTheTextMust) {
  const Running server;
  const std::string answer =
      Complete(server.port(), Body(R"("structured_outputs":{"regex":"x"},"ignore_eos":true)"));
  EXPECT_EQ(TextOf(answer), "x");
  EXPECT_EQ(Member(answer, "finish_reason"), "\"stop\"");
  EXPECT_EQ(Member(answer, "completion_tokens"), "1");
}

TEST(StructuredOutput, StreamsTheSameAndHoldsEachChoiceToIt) {
  const Running server;
  const std::string format =
      R"("response_format":{"type":"json_object","schema":)" + std::string(kPerson) + "}";
  const std::string whole = Complete(server.port(), Body(format));
  const std::string stream = Complete(server.port(), Body(format + R"(,"stream":true)"));
  EXPECT_EQ(Texts(stream, "text"), Texts(whole, "text"));
  const std::string both = Complete(server.port(), Body(format + R"(,"n":3)"));
  const boost::json::value body = boost::json::parse(BodyOf(both));
  for (const boost::json::value& choice : body.at("choices").get_array())
    ExpectFits(Grammar::FromJsonSchema(kPerson), std::string(choice.at("text").get_string()));
}

TEST(StructuredOutput, AnswersChats) {
  const Running server;
  const std::string answer =
      Ask(server.port(),
          Post("/v1/chat/completions",
               R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":200,"seed":1,)"
               R"("response_format":{"type":"json_schema","json_schema":{"name":"p","strict":true,)"
               R"("schema":)" +
                   std::string(kPerson) + "}}}"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  const boost::json::value body = boost::json::parse(BodyOf(answer));
  ExpectFits(Grammar::FromJsonSchema(kPerson),
             std::string(body.at("choices").at(0).at("message").at("content").get_string()));
}

TEST(StructuredOutput, AnswersTheOtherApis) {
  const Running server;
  const std::string format =
      R"({"format":{"type":"json_schema","name":"p","schema":)" + std::string(kPerson) + "}}";
  const std::string response =
      Ask(server.port(),
          Post("/v1/responses",
               R"({"input":"Hi","max_output_tokens":200,"seed":1,"text":)" + format + "}"));
  EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << response;
  const boost::json::value said = boost::json::parse(BodyOf(response));
  ExpectFits(Grammar::FromJsonSchema(kPerson),
             std::string(said.at("output").at(0).at("content").at(0).at("text").get_string()));
  const std::string message =
      Ask(server.port(), Post("/v1/messages", R"({"messages":[{"role":"user","content":"Hi"}],)"
                                              R"("max_tokens":200,"seed":1,"output_config":)" +
                                                  format + "}"));
  EXPECT_TRUE(message.starts_with("HTTP/1.1 200 OK\r\n")) << message;
  const boost::json::value told = boost::json::parse(BodyOf(message));
  ExpectFits(Grammar::FromJsonSchema(kPerson),
             std::string(told.at("content").at(0).at("text").get_string()));
}

TEST(StructuredOutput, RefusesASchemaByNameAndPlace) {
  const Running server;
  for (int i = 0; i < 2; ++i) {  // the second time from what is kept
    const std::string answer = Complete(
        server.port(), Body(R"("response_format":{"type":"json_schema","json_schema":{"schema":)"
                            R"({"properties":{"a":{"uniqueItems":true}}}}})"));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_EQ(Texts(answer, "code"), "invalid_json_schema");
    EXPECT_EQ(Texts(answer, "param"),
              "/response_format/json_schema/schema/properties/a/uniqueItems");
  }
  const std::string regex =
      Complete(server.port(), Body(R"("structured_outputs":{"regex":"(?=a)b"})"));
  EXPECT_TRUE(regex.starts_with("HTTP/1.1 400 ")) << regex;
  EXPECT_EQ(Texts(regex, "code"), "invalid_grammar");
}

TEST(StructuredOutput, NamesWhatARelaxedSchemaLeavesOut) {
  const Running server;
  const std::string answer = Complete(
      server.port(),
      Body(R"("response_format":{"type":"json_schema","json_schema":{"strict":false,"schema":)"
           R"({"type":"array","items":{"enum":[1,2]},"maxItems":2,"uniqueItems":true}}})"));
  ExpectFits(Grammar::FromJsonSchema(R"({"type":"array","items":{"enum":[1,2]},"maxItems":2})"),
             TextOf(answer));
  EXPECT_NE(answer.find("x-skald-relaxed: #/uniqueItems\r\n"), std::string::npos) << answer;
}

}  // namespace
}  // namespace skald::server
