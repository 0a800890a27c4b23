#include "server/grammar_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "skald/chat_template.h"
#include "skald/model.h"

namespace skald::server {
namespace {

const Tokenizer& TalesTokenizer() {
  static const Model model =
      *LoadModel({.path = SKALD_SOURCE_DIR "/models/tales/tales.gguf", .threads = 1});
  return model.tokenizer();
}

GrammarOutcome Compile(GrammarCache& cache, TenantId tenant, const AnswerSource& source) {
  return cache.Compile(tenant, KeyOf(source), source, StopCheck());
}

AnswerSource Schema(std::string text) {
  return {.text = GrammarSource{.text = std::move(text),
                                .path = {"response_format", "json_schema", "schema"}}};
}

bool IsCompiled(const GrammarOutcome& outcome) {
  return std::holds_alternative<CompiledGrammar>(*outcome);
}
const ApiError& ErrorOf(const GrammarOutcome& outcome) { return std::get<ApiError>(*outcome); }

TEST(GrammarCache, KeepsWhatATenantAskedForAndTellsNobodyElse) {
  GrammarCache cache(TalesTokenizer());
  const AnswerSource source = Schema("{\"type\":\"object\"}");
  EXPECT_EQ(cache.Find(1, KeyOf(source)), nullptr);
  const GrammarOutcome made = Compile(cache, 1, source);
  ASSERT_TRUE(IsCompiled(made));
  EXPECT_EQ(cache.Find(1, KeyOf(source)), made);
  EXPECT_EQ(cache.Find(2, KeyOf(source)), nullptr);
}

TEST(GrammarCache, TellsApartAllThatTheOutcomeDependsOn) {
  const AnswerSource source = Schema("{}");
  AnswerSource other = source;
  EXPECT_EQ(KeyOf(source), KeyOf(other));
  other.text->kind = GrammarKind::kRegex;
  EXPECT_NE(KeyOf(source), KeyOf(other));
  other = source;
  other.text->options.mode = SchemaMode::kRelaxed;
  EXPECT_NE(KeyOf(source), KeyOf(other));
  other = source;
  other.text->options.any_whitespace = false;
  EXPECT_NE(KeyOf(source), KeyOf(other));
  other = source;
  other.text->text = "{ }";
  EXPECT_NE(KeyOf(source), KeyOf(other));
  for (bool AnswerSource::*member :
       {&AnswerSource::must_call, &AnswerSource::is_limited, &AnswerSource::one_call,
        &AnswerSource::in_reasoning, &AnswerSource::split_reasoning}) {
    other = source;
    other.*member = !(other.*member);
    EXPECT_NE(KeyOf(source), KeyOf(other));
  }
  other = source;
  other.tools = {{.name = "f", .schema = "{}", .pointer = "/tools/0"}};
  AnswerSource more = other;
  EXPECT_NE(KeyOf(source), KeyOf(other));
  more.tools[0].is_strict = true;
  EXPECT_NE(KeyOf(more), KeyOf(other));
  more.tools = {{.name = "f{", .schema = "}", .pointer = "/tools/0"}};
  EXPECT_NE(KeyOf(more), KeyOf(other));
}

TEST(GrammarCache, KeepsRefusalsAndSaysWhereInTheBody) {
  GrammarCache cache(TalesTokenizer());
  const AnswerSource source = Schema("{\"properties\":{\"a\":{\"not\":{}}}}");
  const GrammarOutcome refused = Compile(cache, 1, source);
  ASSERT_FALSE(IsCompiled(refused));
  EXPECT_EQ(cache.Find(1, KeyOf(source)), refused);
  const ApiError& error = ErrorOf(refused);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.code, "invalid_json_schema");
  EXPECT_EQ(error.param, "/response_format/json_schema/schema/properties/a/not");
  const AnswerSource regex{
      .text =
          GrammarSource{.kind = GrammarKind::kRegex, .text = "(?=a)", .path = {"guided_regex"}}};
  const GrammarOutcome made = Compile(cache, 1, regex);
  const ApiError& other = ErrorOf(made);
  EXPECT_EQ(other.code, "invalid_grammar");
  EXPECT_EQ(other.param, "/guided_regex");
}

TEST(GrammarCache, KeepsNothingThatWasStopped) {
  GrammarCache cache(TalesTokenizer());
  // (a|b)*a(a|b){300}: an exponential subset, as many steps as there may be.
  const AnswerSource source{.text = GrammarSource{.kind = GrammarKind::kRegex,
                                                  .text = "(a|b)*a(a|b){300}",
                                                  .path = {"guided_regex"}}};
  int asked = 0;
  const auto at_once = [&] { return ++asked > 0; };
  cache.Compile(1, KeyOf(source), source, StopCheck(at_once));
  EXPECT_LE(asked, 2);  // within the work, and behind it
  EXPECT_EQ(cache.Find(1, KeyOf(source)), nullptr);
  int looks = 0;
  const auto never = [&] { return ++looks < 0; };
  const GrammarOutcome made = cache.Compile(1, KeyOf(source), source, StopCheck(never));
  EXPECT_GT(looks, 10);
  EXPECT_EQ(cache.Find(1, KeyOf(source)), made);
}

TEST(GrammarCache, NamesWhatARelaxedSchemaLeavesOut) {
  GrammarCache cache(TalesTokenizer());
  AnswerSource source = Schema("{\"type\":\"array\",\"uniqueItems\":true}");
  EXPECT_FALSE(IsCompiled(Compile(cache, 1, source)));
  source.text->options.mode = SchemaMode::kRelaxed;
  const GrammarOutcome made = Compile(cache, 1, source);
  ASSERT_TRUE(IsCompiled(made));
  EXPECT_EQ(std::get<CompiledGrammar>(*made).left_out, std::vector<std::string>{"#/uniqueItems"});
}

// A schema of some hundred kilobytes when it is compiled, so that the bound is met soon.
std::string LargeSchema(int number) {
  return "{\"type\":\"string\",\"pattern\":\"^[a-z]{1,9000}x" + std::to_string(number) + "$\"}";
}

TEST(GrammarCache, KeepsSoManyOfATenantAtMost) {
  GrammarCache cache(TalesTokenizer());
  const auto numbered = [](int64_t number) {
    return Schema("{\"not\":" + std::to_string(number) + "}");
  };
  for (int64_t i = 0; i <= GrammarCache::kTenantGrammars; ++i) Compile(cache, 1, numbered(i));
  EXPECT_EQ(cache.Find(1, KeyOf(numbered(0))), nullptr);
  EXPECT_NE(cache.Find(1, KeyOf(numbered(1))), nullptr);
  EXPECT_NE(cache.Find(1, KeyOf(numbered(GrammarCache::kTenantGrammars))), nullptr);
}

ToolSource Tool(std::string schema, bool is_strict) {
  return {
      .name = "f", .schema = std::move(schema), .pointer = "/tools/0/x", .is_strict = is_strict};
}

// Hermes' calls, as text.
ChatAnswerFormat Hermes() {
  const Result<ChatTemplate> chat =
      ChatTemplate::Create("<tool_call>\"arguments\"</tool_call>", {});
  return ChatAnswerFormat::Of(*chat, TalesTokenizer());
}

TEST(GrammarCache, HoldsAToolAsFarAsItAsks) {
  GrammarCache cache(TalesTokenizer());
  AnswerSource source{.format = Hermes()};
  const auto left_out = [&](std::string schema, bool is_strict) {
    source.tools = {Tool(std::move(schema), is_strict)};
    const GrammarOutcome made = Compile(cache, 1, source);
    if (!IsCompiled(made)) return std::vector<std::string>{"refused " + ErrorOf(made).param};
    EXPECT_TRUE(std::get<CompiledGrammar>(*made).constraint.has_value());
    return std::get<CompiledGrammar>(*made).left_out;
  };
  using Names = std::vector<std::string>;
  const std::string unique = "{\"properties\":{\"a\":{\"type\":\"array\",\"uniqueItems\":true}}}";
  for (const bool is_strict : {true, false}) {
    EXPECT_EQ(left_out("", is_strict), Names());
    EXPECT_EQ(left_out("{\"type\":\"object\"}", is_strict), Names());
  }
  EXPECT_EQ(left_out(unique, false), Names{"/tools/0/x/properties/a/uniqueItems"});
  EXPECT_EQ(left_out(unique, true), Names{"refused /tools/0/x/properties/a/uniqueItems"});
  EXPECT_EQ(left_out("{\"type\":7}", false), Names{"/tools/0/x"});
  EXPECT_EQ(left_out("{\"type\":7}", true), Names{"refused /tools/0/x/type"});
}

// Texts stand without quotes in this format: which arguments are texts is known all the same.
TEST(GrammarCache, ReadsBackWhatAToolThatCannotBeKeptIsCalledWith) {
  const Result<ChatTemplate> chat = ChatTemplate::Create("<tool_call><function=<parameter=", {});
  GrammarCache cache(TalesTokenizer());
  AnswerSource source{.format = ChatAnswerFormat::Of(*chat, TalesTokenizer()), .must_call = true};
  source.tools = {Tool("{\"type\":7}", false)};
  source.tools[0].parameters = {{"s", ChatTool::Kind::kString}, {"n", ChatTool::Kind::kValue}};
  const GrammarOutcome made = Compile(cache, 1, source);
  ASSERT_TRUE(IsCompiled(made));
  const Grammar& grammar = std::get<CompiledGrammar>(*made).constraint->grammar();
  const auto verdict = [&](const std::string& fields) {
    return CheckText(grammar, "<tool_call>\n<function=f>\n" + fields + "</function>\n</tool_call>")
        .verdict;
  };
  EXPECT_EQ(verdict("<parameter=s>\na b\n</parameter>\n"), GrammarVerdict::kAccepted);
  EXPECT_EQ(verdict("<parameter=n>\na b\n</parameter>\n"), GrammarVerdict::kDead);
}

// Each of 128 schemas is small enough, all together take too long: nobody waits for that.
TEST(GrammarCache, ManyToolsShareTheBoundsOfOne) {
  GrammarCache cache(TalesTokenizer());
  AnswerSource source{.format = Hermes()};
  for (int i = 0; i < 128; ++i) {
    source.tools.push_back(Tool("{\"properties\":{\"a\":" + LargeSchema(i) + "}}", false));
    source.tools.back().name += std::to_string(i);
  }
  const GrammarOutcome lenient = Compile(cache, 1, source);
  ASSERT_TRUE(IsCompiled(lenient));
  EXPECT_FALSE(std::get<CompiledGrammar>(*lenient).constraint.has_value());
  EXPECT_EQ(std::get<CompiledGrammar>(*lenient).left_out, std::vector<std::string>{"/tools"});
  source.must_call = true;
  EXPECT_EQ(ErrorOf(Compile(cache, 1, source)).param, "/tools");
}

TEST(GrammarCache, ThrowsOutWhatWasNotUsedForLongest) {
  GrammarCache cache(TalesTokenizer());
  const GrammarOutcome first = Compile(cache, 1, Schema(LargeSchema(0)));
  ASSERT_TRUE(IsCompiled(first));
  const int64_t bytes = std::get<CompiledGrammar>(*first).constraint->memory_bytes();
  ASSERT_GT(bytes, int64_t{100} << 10);
  const auto fitting = static_cast<int>(GrammarCache::kTenantBytes / bytes);
  Compile(cache, 1, Schema("{}"));
  for (int i = 1; i <= fitting; ++i) {
    Compile(cache, 1, Schema(LargeSchema(i)));
    EXPECT_NE(cache.Find(1, KeyOf(Schema("{}"))), nullptr) << i;
  }
  EXPECT_EQ(cache.Find(1, KeyOf(Schema(LargeSchema(0)))), nullptr);
  EXPECT_NE(cache.Find(1, KeyOf(Schema(LargeSchema(fitting)))), nullptr);
  // What was thrown out lives as long as somebody uses it.
  EXPECT_GT(std::get<CompiledGrammar>(*first).constraint->memory_bytes(), 0);
}

}  // namespace
}  // namespace skald::server
