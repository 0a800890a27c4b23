#include "server/grammar_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "skald/model.h"

namespace skald::server {
namespace {

const Tokenizer& TalesTokenizer() {
  static const Model model =
      *LoadModel({.path = SKALD_SOURCE_DIR "/models/tales/tales.gguf", .threads = 1});
  return model.tokenizer();
}

GrammarSource Schema(std::string text) {
  return {.text = std::move(text), .path = {"response_format", "json_schema", "schema"}};
}

TEST(GrammarCache, KeepsWhatATenantAskedForAndTellsNobodyElse) {
  GrammarCache cache(TalesTokenizer());
  const GrammarSource source = Schema("{\"type\":\"object\"}");
  EXPECT_EQ(cache.Find(1, KeyOf(source)), nullptr);
  const GrammarOutcome made = cache.Compile(1, source);
  ASSERT_TRUE(made->ok()) << made->status().message();
  EXPECT_EQ(cache.Find(1, KeyOf(source)), made);
  EXPECT_EQ(cache.Find(2, KeyOf(source)), nullptr);
}

TEST(GrammarCache, TellsApartAllThatTheOutcomeDependsOn) {
  const GrammarSource source = Schema("{}");
  GrammarSource other = source;
  EXPECT_EQ(KeyOf(source), KeyOf(other));
  other.kind = GrammarKind::kRegex;
  EXPECT_NE(KeyOf(source), KeyOf(other));
  other = source;
  other.options.mode = SchemaMode::kRelaxed;
  EXPECT_NE(KeyOf(source), KeyOf(other));
  other = source;
  other.options.any_whitespace = false;
  EXPECT_NE(KeyOf(source), KeyOf(other));
  other = source;
  other.text = "{ }";
  EXPECT_NE(KeyOf(source), KeyOf(other));
}

TEST(GrammarCache, KeepsRefusalsAndSaysWhereInTheBody) {
  GrammarCache cache(TalesTokenizer());
  const GrammarSource source = Schema("{\"properties\":{\"a\":{\"not\":{}}}}");
  const GrammarOutcome refused = cache.Compile(1, source);
  ASSERT_FALSE(refused->ok());
  EXPECT_EQ(cache.Find(1, KeyOf(source)), refused);
  const ApiError error = GrammarRefusal(source, refused->status());
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.code, "invalid_json_schema");
  EXPECT_EQ(error.param, "/response_format/json_schema/schema/properties/a/not");
  GrammarSource regex{.kind = GrammarKind::kRegex, .text = "(?=a)", .path = {"guided_regex"}};
  const ApiError other = GrammarRefusal(regex, cache.Compile(1, regex)->status());
  EXPECT_EQ(other.code, "invalid_grammar");
  EXPECT_EQ(other.param, "/guided_regex");
}

TEST(GrammarCache, NamesWhatARelaxedSchemaLeavesOut) {
  GrammarCache cache(TalesTokenizer());
  GrammarSource source = Schema("{\"type\":\"array\",\"uniqueItems\":true}");
  EXPECT_FALSE(cache.Compile(1, source)->ok());
  source.options.mode = SchemaMode::kRelaxed;
  const GrammarOutcome made = cache.Compile(1, source);
  ASSERT_TRUE(made->ok()) << made->status().message();
  EXPECT_EQ((*made)->left_out, std::vector<std::string>{"#/uniqueItems"});
}

// A schema of some hundred kilobytes when it is compiled, so that the bound is met soon.
std::string LargeSchema(int number) {
  return "{\"type\":\"string\",\"pattern\":\"^[a-z]{1,9000}x" + std::to_string(number) + "$\"}";
}

TEST(GrammarCache, ThrowsOutWhatWasNotUsedForLongest) {
  GrammarCache cache(TalesTokenizer());
  const GrammarOutcome first = cache.Compile(1, Schema(LargeSchema(0)));
  ASSERT_TRUE(first->ok()) << first->status().message();
  const int64_t bytes = (*first)->constraint.memory_bytes();
  ASSERT_GT(bytes, int64_t{100} << 10);
  const auto fitting = static_cast<int>(GrammarCache::kTenantBytes / bytes);
  cache.Compile(1, Schema("{}"));
  for (int i = 1; i <= fitting; ++i) {
    cache.Compile(1, Schema(LargeSchema(i)));
    EXPECT_NE(cache.Find(1, KeyOf(Schema("{}"))), nullptr) << i;
  }
  EXPECT_EQ(cache.Find(1, KeyOf(Schema(LargeSchema(0)))), nullptr);
  EXPECT_NE(cache.Find(1, KeyOf(Schema(LargeSchema(fitting)))), nullptr);
  // What was thrown out lives as long as somebody uses it.
  EXPECT_GT((*first)->constraint.memory_bytes(), 0);
}

}  // namespace
}  // namespace skald::server
