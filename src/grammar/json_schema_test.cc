#include "grammar/json_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "grammar/test_cases.h"

namespace skald::grammar {
namespace {

std::string Check(std::string_view schema, std::string_view text) {
  const Result<Grammar> grammar = Grammar::FromJsonSchema(schema);
  return grammar.ok() ? Outcome(*grammar, text) : grammar.status().message();
}

bool Accepts(std::string_view schema, std::string_view text) {
  return Check(schema, text) == "accepted";
}

std::string Refusal(std::string_view schema) {
  const Result<Grammar> grammar = Grammar::FromJsonSchema(schema);
  return grammar.ok() ? "taken" : grammar.status().message();
}

// Each text with whether the schema takes it.
struct Case {
  std::string_view text;
  bool accepted;
};
void CheckCases(std::string_view schema, const std::vector<Case>& cases) {
  for (const Case& one : cases)
    EXPECT_EQ(Accepts(schema, one.text), one.accepted)
        << schema << " " << one.text << " " << Check(schema, one.text);
}

// Found by the fuzzer: the quotation mark was taken, and nothing could follow.
TEST(JsonSchema, APatternThatNothingMatchesIsNoText) {
  for (const char* schema :
       {R"({"type":"string","pattern":"a$~"})",
        R"({"type":"array","items":{"type":"string","pattern":"a$~"},"minItems":1})"}) {
    const auto grammar = Grammar::FromJsonSchema(schema);
    ASSERT_FALSE(grammar.ok()) << schema;
    EXPECT_NE(grammar.status().message().find("no text can satisfy"), std::string::npos);
  }
  const auto array = Grammar::FromJsonSchema(
      R"({"type":"array","prefixItems":[{"enum":[1]},{"type":"string","pattern":"e?w$~"}]})");
  ASSERT_TRUE(array.ok());
  EXPECT_FALSE(CheckText(*array, "[1").next[',']);
  EXPECT_TRUE(CheckText(*array, "[1").next[']']);
}

TEST(JsonSchema, Types) {
  CheckCases(R"({"type":["integer","null"]})",
             {{"1", true}, {"null", true}, {"1.0", false}, {"true", false}, {"-0", true}});
  CheckCases("true", {{"[1,{\"a\":null}]", true}, {"\"x\"", true}, {"01", false}, {"", false}});
}

TEST(JsonSchema, DeclaredKeysComeInTheirOrder) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},
          "c":{"type":"integer"}},"required":["b"],"additionalProperties":false})";
  CheckCases(kSchema, {{R"({"a":1,"b":2,"c":3})", true},
                       {R"({"b":2})", true},
                       {R"({"b":2,"c":3})", true},
                       {R"({"a":1,"c":3})", false},
                       {R"({"b":2,"a":1})", false},
                       {R"({"b":2,"b":2})", false},
                       {R"({})", false},
                       {R"({"b":2,})", false}});
}

TEST(JsonSchema, NoKeyComesTwice) {
  CheckCases(R"({"type":"object","properties":{"id":{"type":"integer"}},
                 "additionalProperties":{"type":"string"}})",
             {{R"({"id":1,"x":"y"})", true},
              {R"({"x":"y","xx":"y"})", true},
              {R"({"x":"y","x":"z"})", false},
              {R"({"x":"y","id":1})", false},
              {R"({"idx":"y"})", true},
              {R"({"x":"y","x\n":"z"})", true}});
}

// Where the keys that may come are few, their beginnings end with them.
TEST(JsonSchema, KeysOfAFiniteSetRunOut) {
  constexpr std::string_view kSchema =
      R"({"type":"object","propertyNames":{"enum":["a","ab"]},
          "additionalProperties":{"type":"null"}})";
  CheckCases(kSchema, {{R"({"ab":null,"a":null})", true}, {R"({"a":null,"a":null})", false}});
  EXPECT_EQ(Check(kSchema, R"({"a":null,"ab":null,)"), "viable 19 of 20");
  EXPECT_EQ(Check(kSchema, R"({"ab":null,"ab)"), "viable 13 of 14");
  EXPECT_EQ(Check(R"({"type":"object","propertyNames":{"pattern":"^[xy]$"}})", R"({"x":1,"x)"),
            "viable 8 of 9");
  EXPECT_EQ(Check(R"({"type":"object","propertyNames":{"enum":["a"]},"minProperties":2})", "{"),
            "no text can satisfy it: nothing can be finished");
}

TEST(JsonSchema, NumbersOfMembersBindWhileThereIsTime) {
  constexpr std::string_view kClosed =
      R"({"type":"object","properties":{"a":true,"b":true,"c":true},"additionalProperties":false,
          "minProperties":2,"maxProperties":2,"required":["c"]})";
  EXPECT_EQ(Check(kClosed, R"({"a":1,"c":1})"), "accepted");
  EXPECT_EQ(Check(kClosed, R"({"a":1,"b)"), "viable 8 of 9");
  EXPECT_EQ(Check(kClosed, R"({"c)"), "viable 2 of 3");
  constexpr std::string_view kOpen = R"({"type":"object","required":["f","g"],"maxProperties":3})";
  CheckCases(kOpen, {{R"({"x":1,"g":1,"f":1})", true}, {R"({"g":1,"f":1})", true}});
  EXPECT_EQ(Check(kOpen, R"({"x":1,"y)"), "viable 8 of 9");
}

TEST(JsonSchema, PatternsOfKeysBindTogether) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"ab":{"type":"integer"}},
          "patternProperties":{"^a":{"minimum":5},"b$":{"type":"integer"}},
          "additionalProperties":false})";
  CheckCases(kSchema, {{R"({"ab":5})", true},
                       {R"({"ab":4})", false},
                       {R"({"ax":"s"})", true},
                       {R"({"ax":4})", false},
                       {R"({"xb":4})", true},
                       {R"({"aab":4})", false},
                       {R"({"aab":7})", true},
                       {R"({"c":1})", false}});
}

TEST(JsonSchema, ArraysAndTheirPrefix) {
  constexpr std::string_view kSchema =
      R"({"type":"array","prefixItems":[{"type":"integer"},false],"items":{"type":"null"}})";
  CheckCases(kSchema, {{"[]", true}, {"[1]", true}, {"[1,null]", false}});
  CheckCases(R"({"type":"array","items":{"type":"null"},"minItems":2,"maxItems":3})",
             {{"[null]", false},
              {"[null,null]", true},
              {"[null, null,\n  null]", true},
              {"[null,null,null,null]", false}});
}

TEST(JsonSchema, WhiteSpaceIsShort) {
  CheckCases(R"({"type":"array"})", {{"[ ]", true},
                                     {"[  ]", false},
                                     {"[\n\t]", true},
                                     {"[1 ,2]", false},
                                     {" []", false},
                                     {"[1, 2]", true},
                                     {"[\r\n]", false}});
  const Result<Grammar> tight = Grammar::FromJsonSchema("true", {.any_whitespace = false});
  ASSERT_TRUE(tight.ok());
  EXPECT_EQ(Outcome(*tight, "[1,2]"), "accepted");
  EXPECT_EQ(Outcome(*tight, "[1, 2]"), "viable 3 of 6");
}

TEST(JsonSchema, LengthsCountCharacters) {
  constexpr std::string_view kSchema = R"({"type":"string","minLength":2,"maxLength":3})";
  CheckCases(kSchema, {{"\"a\"", false},
                       {"\"ab\"", true},
                       {"\"\u00E9\U0001F600\\n\"", true},
                       {R"("\ud83d\ude00")", false},
                       {R"("\ud83d\ude00a")", true},
                       {"\"abcd\"", false}});
  CheckCases(R"({"type":"string","pattern":"^[ab]*$","minLength":2,"maxLength":3})",
             {{"\"a\"", false}, {"\"ab\"", true}, {"\"aba\"", true}, {"\"abab\"", false}});
  EXPECT_EQ(Check(R"({"type":"string","pattern":"^(aa)*$","minLength":3,"maxLength":3})", "\""),
            "no text can satisfy it: nothing can be finished");
  EXPECT_TRUE(Accepts(R"({"type":"string","maxLength":524288})", "\"x\""));
}

TEST(JsonSchema, RangesOfNumbers) {
  CheckCases(R"({"type":"integer","minimum":-12,"exclusiveMaximum":105})", {{"-13", false},
                                                                            {"-12", true},
                                                                            {"-1", true},
                                                                            {"-0", false},
                                                                            {"0", true},
                                                                            {"104", true},
                                                                            {"105", false},
                                                                            {"99", true},
                                                                            {"1e1", false}});
  CheckCases(R"({"type":"number","exclusiveMinimum":0.5,"maximum":10})", {{"0.5", false},
                                                                          {"0.50", false},
                                                                          {"0.500001", true},
                                                                          {"10.0", true},
                                                                          {"10.01", false},
                                                                          {"9.99", true},
                                                                          {"1", true},
                                                                          {"0", false}});
  CheckCases(R"({"type":"number","minimum":38.4})",
             {{"38", false}, {"38.4", true}, {"38.39", false}});
  CheckCases(R"({"type":"integer","multipleOf":7,"minimum":10})",
             {{"7", false}, {"14", true}, {"700", true}, {"701", false}});
  EXPECT_EQ(Check(R"({"type":"integer","minimum":3,"maximum":2})", "1"),
            "no text can satisfy it: nothing can be finished");
}

// Every number of a small range, against plain comparison.
TEST(JsonSchema, RangesAgreeWithComparison) {
  for (int low = -120; low <= 120; low += 37) {
    for (int high = low; high <= 130; high += 41) {
      const std::string schema = "{\"type\":\"integer\",\"minimum\":" + std::to_string(low) +
                                 ",\"maximum\":" + std::to_string(high) + "}";
      const Result<Grammar> grammar = Grammar::FromJsonSchema(schema);
      ASSERT_TRUE(grammar.ok());
      for (int number = -140; number <= 140; ++number)
        EXPECT_EQ(Outcome(*grammar, std::to_string(number)) == "accepted",
                  number >= low && number <= high)
            << schema << " " << number;
    }
  }
}

TEST(JsonSchema, ListedValues) {
  CheckCases(R"({"enum":[1,"1",null,[1,{"b":2,"a":[]}]]})", {{"1", true},
                                                             {"\"1\"", true},
                                                             {"[1, {\"b\": 2, \"a\": []}]", true},
                                                             {"[1,{\"a\":[],\"b\":2}]", false},
                                                             {"12", false}});
  CheckCases(R"({"enum":["a","bb","ccc"],"minLength":2,"pattern":"b|c"})",
             {{"\"a\"", false}, {"\"bb\"", true}, {"\"ccc\"", true}});
  CheckCases(R"({"allOf":[{"enum":[1,2]},{"enum":[2,3]}]})", {{"1", false}, {"2", true}});
}

TEST(JsonSchema, ChoicesAndWhatStandsBesideThem) {
  CheckCases(R"({"type":"object","properties":{"a":{"type":"integer"}},
                 "anyOf":[{"required":["a"]},{"required":["b"]}]})",
             {{R"({"a":1})", true}, {R"({"b":1})", true}, {R"({"c":1})", false}});
  CheckCases(R"({"anyOf":[{"minimum":5},{"multipleOf":2}],"type":"integer","maximum":8})",
             {{"2", true}, {"3", false}, {"7", true}, {"9", false}});
  CheckCases(R"({"oneOf":[{"type":"object","properties":{"t":{"const":"x"}},"required":["t"]},
                          {"type":"object","properties":{"t":{"enum":["y"]}},"required":["t"]}]})",
             {{R"({"t":"x"})", true}, {R"({"t":"y"})", true}, {R"({"t":"z"})", false}});
}

TEST(JsonSchema, References) {
  CheckCases(R"({"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false})",
             {{R"({"next":{"next":{}}})", true}, {R"({"next":1})", false}});
  EXPECT_TRUE(
      Accepts(R"({"$defs":{"a b":{"$anchor":"x","const":1}},"$ref":"#/$defs/a%20b"})", "1"));
  CheckCases(R"({"$defs":{"n":{"type":"integer"}},"$ref":"#/$defs/n","minimum":5})",
             {{"5", true}, {"4", false}});
}

// What cannot be finished is cut off, wherever it stands.
TEST(JsonSchema, CutsWhatCanNeverBeFinished) {
  EXPECT_EQ(Refusal(R"({"type":"object","properties":{"n":{"$ref":"#"}},"required":["n"]})"),
            "no text can satisfy it: nothing can be finished");
  EXPECT_EQ(Refusal(R"({"type":"object","required":["a","b"],"maxProperties":1})"),
            "no text can satisfy it: nothing can be finished");
  CheckCases(R"({"type":"object","properties":{"a":{"type":"string","enum":[1]},"b":true}})",
             {{R"({"b":1})", true}, {R"({"a":1})", false}});
  EXPECT_EQ(
      Check(R"({"type":"object","properties":{"a":false},"additionalProperties":true})", R"({"a")"),
      "viable 3 of 4");
}

// Beyond 512 containers there is no further one, and what was begun can be finished.
TEST(JsonSchema, TextsHaveADepth) {
  constexpr std::string_view kSchema = R"({"type":"array","items":{"$ref":"#"}})";
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(Check(kSchema, nested(512)), "accepted");
  EXPECT_EQ(Check(kSchema, nested(513)), "viable 512 of 1026");
  constexpr std::string_view kNeedsMore =
      R"({"type":"array","items":{"type":"array","prefixItems":[{"type":"array","prefixItems":
          [{"$ref":"#"}],"minItems":1}],"minItems":1}})";
  std::string text;
  const Result<Grammar> grammar = Grammar::FromJsonSchema(kNeedsMore);
  ASSERT_TRUE(grammar.ok());
  while (CheckText(*grammar, text + "[").verdict != GrammarVerdict::kDead) text += "[";
  EXPECT_LE(text.size(), 512U);
  EXPECT_EQ(Outcome(*grammar, text + std::string(text.size(), ']')), "accepted");
}

TEST(JsonSchema, RefusesByNameAndPlace) {
  EXPECT_EQ(Refusal(R"({"properties":{"a/b":{"not":{}}}})"),
            "#/properties/a~1b/not: is not supported");
  EXPECT_EQ(Refusal(R"({"minimun":3})"), "#/minimun: an unknown keyword");
  EXPECT_EQ(Refusal(R"({"type":"string","pattern":"\\bx"})"),
            "#/pattern: a word boundary \\b or \\B is not supported, at byte 2");
  EXPECT_EQ(Refusal(R"({"type":"string","format":"color"})"),
            "#/format: the format 'color' is not supported");
  EXPECT_EQ(Refusal(R"({"$ref":"https://example.com/s"})"),
            "#/$ref: refers to another document, and nothing is fetched");
  EXPECT_EQ(Refusal(R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}})"),
            "#/$ref: a circular reference");
  EXPECT_EQ(Refusal(R"({"type":"int"})"),
            "#/type: malformed; expected null, boolean, integer, number, string, array, object, or "
            "a list of these");
  EXPECT_EQ(Refusal(R"({"a":1,"a":2})"), "#/a: a key twice");
  EXPECT_EQ(Refusal(R"({"$ref":"#/$defs/0","$defs":[{}]})"),
            "#/$defs: malformed; expected an object of schemas");
  EXPECT_EQ(Refusal("\"text\""), "#: malformed; expected a schema: an object, true or false");
}

TEST(JsonSchema, RelaxedLeavesOutAndNames) {
  const Result<Grammar> grammar = Grammar::FromJsonSchema(
      R"({"type":"array","items":{"type":"string","format":"color","not":{}},"uniqueItems":true})",
      {.mode = SchemaMode::kRelaxed});
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  EXPECT_EQ(grammar->left_out(),
            (std::vector<std::string>{"#/uniqueItems", "#/items/format", "#/items/not"}));
  EXPECT_EQ(Outcome(*grammar, "[\"a\"]"), "accepted");
  EXPECT_EQ(Outcome(*grammar, "[1]"), "viable 1 of 3");
  const Result<Grammar> malformed =
      Grammar::FromJsonSchema(R"({"type":"int"})", {.mode = SchemaMode::kRelaxed});
  EXPECT_FALSE(malformed.ok());
}

TEST(JsonSchema, Formats) {
  const auto format = [](std::string_view name) {
    return "{\"type\":\"string\",\"format\":\"" + std::string(name) + "\"}";
  };
  CheckCases(format("date"), {{"\"2024-02-29\"", true},
                              {"\"2023-02-29\"", false},
                              {"\"1900-02-29\"", false},
                              {"\"2000-02-29\"", true},
                              {"\"2026-04-31\"", false},
                              {"\"0000-01-01\"", false}});
  CheckCases(format("ipv6"), {{"\"::1\"", true}, {"\"1::2::3\"", false}});
  CheckCases(format("email"), {{"\"a.b@c.de\"", true}, {"\"a..b@c.de\"", false}});
}

TEST(JsonSchema, OnlyObjectsWhereNothingElseIsWanted) {
  const auto check = [](std::string_view schema, std::string_view text) {
    const Result<Grammar> grammar = Grammar::FromJsonSchema(schema, {.only_objects = true});
    return grammar.ok() ? CheckText(*grammar, text).verdict : GrammarVerdict::kTooComplex;
  };
  for (const std::string_view schema :
       {"true", "{}", R"({"type":["object","null"]})", R"({"anyOf":[{"type":"object"},{}]})",
        R"({"$ref":"#/$defs/a","$defs":{"a":{"properties":{"a":{"$ref":"#"}}}}})"}) {
    EXPECT_EQ(check(schema, "{}"), GrammarVerdict::kAccepted) << schema;
    EXPECT_EQ(check(schema, "null"), GrammarVerdict::kDead) << schema;
    EXPECT_EQ(check(schema, "[]"), GrammarVerdict::kDead) << schema;
  }
  // What is below may be anything.
  EXPECT_EQ(check(R"({"properties":{"a":{"$ref":"#"}}})", "{\"a\": 1}"), GrammarVerdict::kAccepted);
  EXPECT_FALSE(Grammar::FromJsonSchema(R"({"type":"string"})", {.only_objects = true}).ok());
}

TEST(JsonSchema, SeveralShareOneBudget) {
  CompileBudget budget{.steps = 100'000};
  int compiled = 0;
  while (Grammar::FromJsonSchema(R"({"type":"string","maxLength":9})", {}, &budget).ok())
    ++compiled;
  EXPECT_GT(compiled, 1);
  EXPECT_LT(budget.steps, 0);
}

}  // namespace
}  // namespace skald::grammar
