#include "server/grammar_source.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "server/raw_member.h"

namespace skald::server {
namespace {

struct Outcome {
  std::optional<GrammarSource> source;
  std::string error;  // the field and the message
};

Outcome Read(const std::string& body) {
  const boost::json::value value = boost::json::parse(body);
  Fields fields(value.get_object());
  Outcome outcome{.source = ReadGrammarSource(fields), .error = ""};
  if (fields.error()) outcome.error = fields.error()->param + ": " + fields.error()->message;
  if (outcome.source) TakeRawText(body, &*outcome.source);
  return outcome;
}

std::string TextOf(const std::string& body) {
  const Outcome outcome = Read(body);
  EXPECT_EQ(outcome.error, "") << body;
  return outcome.source ? outcome.source->text : "none";
}

TEST(ReadGrammarSource, TakesEachApisWords) {
  EXPECT_EQ(TextOf("{}"), "none");
  EXPECT_EQ(TextOf(R"({"response_format":null,"grammar":"","guided_json":null})"), "none");
  EXPECT_EQ(TextOf(R"({"response_format":{"type":"text"}})"), "none");
  EXPECT_EQ(TextOf(R"({"response_format":{"type":"json_object"}})"), R"({"type":"object"})");
  EXPECT_EQ(TextOf(R"({"response_format":{"type":"json_object","schema":{"a":1}}})"), R"({"a":1})");
  EXPECT_EQ(TextOf(R"({"response_format":{"type":"json_schema",
                       "json_schema":{"name":"x","schema":{"b":2}}}})"),
            R"({"b":2})");
  EXPECT_EQ(TextOf(R"({"structured_outputs":{"json":{"c":3}}})"), R"({"c":3})");
  EXPECT_EQ(TextOf(R"({"structured_outputs":{"json":"{\"c\":3}"}})"), R"({"c":3})");
  EXPECT_EQ(TextOf(R"({"structured_outputs":{"regex":"a+"}})"), "a+");
  EXPECT_EQ(TextOf(R"({"structured_outputs":{"json_object":true}})"), R"({"type":"object"})");
  EXPECT_EQ(TextOf(R"({"guided_json":{"d":4}})"), R"({"d":4})");
  EXPECT_EQ(TextOf(R"({"guided_json":{}})"), "{}");
  EXPECT_EQ(TextOf(R"({"json_schema":{}})"), "{}");
  EXPECT_EQ(TextOf(R"({"structured_outputs":{"json":{}}})"), "{}");
  EXPECT_EQ(TextOf(R"({"response_format":{"type":"json_schema","schema":{}}})"), "{}");
  EXPECT_EQ(TextOf(R"({"guided_regex":"b"})"), "b");
  EXPECT_EQ(TextOf(R"({"guided_grammar":"root ::= \"x\""})"), "root ::= \"x\"");
  EXPECT_EQ(TextOf(R"({"grammar":"root ::= \"y\""})"), "root ::= \"y\"");
  EXPECT_EQ(TextOf(R"({"json_schema":{"e":5}})"), R"({"e":5})");
}

TEST(ReadGrammarSource, AChoiceIsAGrammarOfItsTexts) {
  EXPECT_EQ(TextOf(R"({"guided_choice":["yes","no \"or\" so\\","a\nb"]})"),
            R"(root ::= "yes" | "no \"or\" so\\" | "a\x0Ab")");
  const std::optional<GrammarSource> source =
      Read(R"({"structured_outputs":{"choice":["\u00e4","]","^"]}})").source;
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(source->kind, GrammarKind::kGbnf);
  EXPECT_EQ(Read(R"({"guided_choice":[1]})").error.substr(0, 14), "guided_choice:");
  EXPECT_EQ(Read(R"({"structured_outputs":{"choice":"x"}})").error.substr(0, 19),
            "structured_outputs:");
}

TEST(ReadGrammarSource, ReadsWhatIsSaidAboutIt) {
  const auto strict = [](const std::string& value) {
    return Read(R"({"response_format":{"type":"json_schema","json_schema":{"schema":{},"strict":)" +
                value + "}}}")
        .source->options.mode;
  };
  EXPECT_EQ(strict("true"), SchemaMode::kStrict);
  EXPECT_EQ(strict("null"), SchemaMode::kStrict);
  EXPECT_EQ(strict("false"), SchemaMode::kRelaxed);
  EXPECT_FALSE(Read(R"({"structured_outputs":{"json":{},"disable_any_whitespace":true}})")
                   .source->options.any_whitespace);
  EXPECT_TRUE(Read(R"({"structured_outputs":{"disable_any_whitespace":false,"json":{"a":1}}})")
                  .source->options.any_whitespace);
}

TEST(ReadGrammarSource, NamesTheSecondOfTwo) {
  EXPECT_EQ(Read(R"({"grammar":"x","response_format":{"type":"json_object"}})").error,
            "grammar: grammar beside response_format: an answer has one grammar");
  EXPECT_EQ(Read(R"({"structured_outputs":{"regex":"a","choice":["b"]}})").error.substr(0, 18),
            "structured_outputs");
}

TEST(ReadGrammarSource, RefusesByNameWhatItDoesNotHave) {
  for (const std::string body : {R"({"response_format":{"type":"grammar"}})",
                                 R"({"response_format":{"type":"json_schema"}})",
                                 R"({"response_format":{"type":"json_schema","json_schema":{}}})",
                                 R"({"response_format":{"type":"json_object","schema":7}})",
                                 R"({"response_format":"json"})"})
    EXPECT_TRUE(Read(body).error.starts_with("response_format: ")) << body << Read(body).error;
  for (const std::string body :
       {R"({"structured_outputs":{"whitespace_pattern":" "}})",
        R"({"structured_outputs":{"structural_tag":"{}"}})", R"({"structured_outputs":{"json":7}})",
        R"({"structured_outputs":7})"})
    EXPECT_TRUE(Read(body).error.starts_with("structured_outputs: ")) << body;
  EXPECT_EQ(Read(R"({"grammar":7})").error, "grammar: grammar is 7, expected a string");
}

// A number of a schema is what was written, not the double next to it.
TEST(ReadGrammarSource, ASchemaIsTakenAsItWasWritten) {
  const std::string schema =
      "{ \"maximum\": 0.1234567890123456789012, \"enum\":[1e400 , \"a\\u0062}\"] }";
  EXPECT_EQ(TextOf("{\"a\":{\"json_schema\":1},\"json_schema\" :  " + schema + " , \"z\":[]}"),
            schema);
  EXPECT_EQ(
      PointerOf(*Read(R"({"response_format":{"type":"json_object","schema":{"a":1}}})").source),
      "/response_format/schema");
}

TEST(RawMember, FindsAMemberWhateverStandsAround) {
  EXPECT_EQ(RawMember(R"({"a":1,"b":"x\"}","c":[{"b":2}],"d":true})", "b"), R"("x\"}")");
  EXPECT_EQ(RawMember(R"({"a":1,"b":"x\"}","c":[{"b":2}],"d":true})", "c"), R"([{"b":2}])");
  EXPECT_EQ(RawMember(R"({"a":1,"b":"x\"}","c":[{"b":2}],"d":true})", "d"), "true");
  EXPECT_EQ(RawMember(R"({"a":1})", "a"), "1");
  EXPECT_EQ(RawMember("{\"a\" : -1.5e3\n}", "a"), "-1.5e3");
  EXPECT_EQ(RawMember(R"({"\u0061b":[]})", "ab"), "[]");
  EXPECT_EQ(RawMember(R"({"a":{}})", "b"), "");
  EXPECT_EQ(RawMember("{}", "b"), "");
}

}  // namespace
}  // namespace skald::server
