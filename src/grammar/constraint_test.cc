#include "skald/constraint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/constraint_state.h"
#include "grammar/test_vocabulary.h"
#include "grammar/test_walk.h"
#include "grammar/token_table.h"

namespace skald::grammar {
namespace {

Grammar Schema(std::string_view schema) {
  Result<Grammar> grammar = Grammar::FromJsonSchema(schema);
  EXPECT_TRUE(grammar.ok()) << schema << ": " << grammar.status().message();
  return *std::move(grammar);
}

Grammar Gbnf(std::string_view gbnf) {
  Result<Grammar> grammar = Grammar::FromGbnf(gbnf);
  EXPECT_TRUE(grammar.ok()) << gbnf << ": " << grammar.status().message();
  return *std::move(grammar);
}

Grammar Regex(std::string_view regex) {
  Result<Grammar> grammar = Grammar::FromRegex(regex);
  EXPECT_TRUE(grammar.ok()) << regex << ": " << grammar.status().message();
  return *std::move(grammar);
}

Constraint Over(const Grammar& grammar, const Vocabulary& vocabulary) {
  Result<Constraint> constraint = Constraint::Create(grammar, vocabulary);
  EXPECT_TRUE(constraint.ok()) << constraint.status().message();
  return *std::move(constraint);
}

const std::vector<Grammar>& Grammars() {
  static const std::vector<Grammar> grammars = {
      Schema("true"),
      Schema("{\"type\":\"object\"}"),
      Schema("{\"type\":\"string\"}"),
      Schema("{\"type\":\"string\",\"minLength\":2,\"maxLength\":5}"),
      Schema("{\"type\":\"string\",\"minLength\":3}"),
      Schema("{\"type\":\"string\",\"maxLength\":400}"),
      Schema("{\"type\":\"string\",\"pattern\":\"^(abc|order)+$\"}"),
      Schema("{\"type\":\"number\"}"),
      Schema("{\"type\":\"integer\",\"minimum\":-3,\"maximum\":1000}"),
      Schema("{\"enum\":[\"abc\",\"ab\",10,null,[1],{\"a\":true}]}"),
      Schema("{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":3}"),
      Schema("{\"type\":\"array\",\"prefixItems\":[{\"type\":\"boolean\"}],\"items\":false,"
             "\"minItems\":1}"),
      Schema("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"orderId\":{"
             "\"type\":\"integer\"},\"order\":{\"$ref\":\"#\"}},\"required\":[\"name\"],"
             "\"additionalProperties\":false}"),
      Schema("{\"type\":\"object\",\"properties\":{\"name\":{}},\"required\":[\"ab\"]}"),
      Schema("{\"type\":\"object\",\"propertyNames\":{\"enum\":[\"a\",\"ab\",\"abc\"]},"
             "\"minProperties\":2}"),
      Schema("{\"type\":\"object\",\"patternProperties\":{\"^a\":{\"type\":\"integer\"}},"
             "\"additionalProperties\":{\"type\":\"string\"},\"maxProperties\":3}"),
      Schema("{\"anyOf\":[{\"type\":\"string\",\"format\":\"date\"},{\"type\":\"integer\"}]}"),
      Gbnf("root ::= \"(\" root \")\" | [a-c]* | root \",\" root"),
      Gbnf("root ::= (\"a\" | \"ab\" | \"abc\")* \"order\"? .?"),
      Gbnf("root ::= item{2,300} \"\\n\"\nitem ::= [^\\x00-\\x1F]{1,3} \" \""),
      Gbnf("root ::= unit{2,300} \"!\"\nunit ::= \"t\" | \"true\" | \"rx\""),
      Regex("[a-z]{3,8}(Id)?\\.?"),
      Regex("(a|b)*a(a|b|c){14}"),
  };
  return grammars;
}

TEST(Constraint, AMaskIsWhatEachTokenAloneSays) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  uint64_t seed = 0;
  for (const Grammar& grammar : Grammars()) {
    const Constraint constraint = Over(grammar, vocabulary);
    for (int walk = 0; walk < 4; ++walk) {
      SCOPED_TRACE(seed);
      CheckWalk(constraint, {.seed = seed++, .tokens = 40});
    }
  }
}

TEST(Constraint, WhatMayEndAndWhatMust) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  ConstraintState state(Over(Regex("ab?"), vocabulary));
  EXPECT_FALSE(state.may_end());
  ASSERT_TRUE(state.Advance('a').ok());
  EXPECT_TRUE(state.may_end());
  EXPECT_FALSE(state.must_end());
  const ConstraintState before = state;
  ASSERT_TRUE(state.Advance('b').ok());
  EXPECT_TRUE(state.must_end());
  EXPECT_TRUE(MaskOf(state, vocabulary.size()).empty());
  // A copy stands where it stood.
  EXPECT_FALSE(before.must_end());
  EXPECT_TRUE(before.Allows('b'));
}

// A token that leads from inside of one string into the next leaves all as it was, but for what may
// come behind it.
TEST(Constraint, AMaskOfOneStringIsNotThatOfTheNext) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  const TokenTable& tokens = vocabulary.table();
  ConstraintState state(Over(
      Schema("{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":2}"), vocabulary));
  const auto read = [&](std::string_view bytes) {
    for (TokenId id = 0; id < tokens.token_count(); ++id)
      if (tokens.BytesOf(id) == bytes) return state.Advance(id).ok();
    return false;
  };
  ASSERT_TRUE(read("[") && read("\"") && read("a"));
  const std::vector<TokenId> first = MaskOf(state, vocabulary.size());
  ASSERT_TRUE(read("\", \"") && read("a"));
  const std::vector<TokenId> second = MaskOf(state, vocabulary.size());
  EXPECT_LT(second.size(), first.size());
  EXPECT_FALSE(read("\", \""));
  EXPECT_TRUE(read("\"}]") || read("a\"]"));
}

TEST(Constraint, ATokenThatMayNotFollowIsRefusedAndNothingMoves) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  ConstraintState state(Over(Regex("(ab){2}"), vocabulary));
  EXPECT_EQ(state.Advance('b').code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(state.Advance(-1).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(state.Advance(static_cast<TokenId>(vocabulary.size())).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_FALSE(state.Allows(-1));
  EXPECT_TRUE(state.Advance('a').ok());
}

TEST(Constraint, TokensWithoutTextAreInNoMask) {
  const Vocabulary vocabulary = Vocabulary::FromBytes({{"a", "", "b", ""}});
  EXPECT_EQ(vocabulary.size(), 4);
  const ConstraintState state(Over(Regex("[ab]*"), vocabulary));
  EXPECT_EQ(MaskOf(state, vocabulary.size()), (std::vector<TokenId>{0, 2}));
  EXPECT_FALSE(state.Allows(1));
}

TEST(Constraint, AWordBehindTheVocabularyIsCleared) {
  const Vocabulary vocabulary = Vocabulary::FromBytes({{"a", "b"}});
  const ConstraintState state(Over(Regex("a"), vocabulary));
  std::vector<uint64_t> words(3, ~uint64_t{0});
  ASSERT_TRUE(state.FillMask(words).ok());
  EXPECT_EQ(words, (std::vector<uint64_t>{1, 0, 0}));
}

TEST(Constraint, AVocabularyThatCannotSpellTheGrammarIsRefused) {
  const Vocabulary vocabulary = Vocabulary::FromBytes({{"a", "bc", "b"}});
  EXPECT_TRUE(Constraint::Create(Regex("a*b"), vocabulary).ok());
  const Result<Constraint> refused = Constraint::Create(Regex("a*bc"), vocabulary);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.status().message().find("0x63"), std::string::npos)
      << refused.status().message();
  // A rule that nothing leads to asks for nothing.
  EXPECT_TRUE(Constraint::Create(Gbnf("root ::= \"a\"\nother ::= \"z\""), vocabulary).ok());
}

TEST(Constraint, ForcedBytesAreTheOnlyWayOn) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  ConstraintState state(Over(Regex("order(Id|Name)!"), vocabulary));
  EXPECT_EQ(state.ForcedBytes(100), "order");
  EXPECT_EQ(state.ForcedBytes(3), "ord");
  for (const char byte : std::string("orderI")) ASSERT_TRUE(state.Advance(byte).ok());
  EXPECT_EQ(state.ForcedBytes(100), "d!");
  ASSERT_TRUE(state.Advance('d').ok());
  ASSERT_TRUE(state.Advance('!').ok());
  EXPECT_EQ(state.ForcedBytes(100), "");
  // Where it may end, going on is a choice.
  EXPECT_EQ(ConstraintState{Over(Regex("(ab)*"), vocabulary)}.ForcedBytes(100), "");
}

// Each byte may be part of very many items: the text ends there with an error, and no token of the
// mask before it was wrong.
TEST(Constraint, WhatIsTooAmbiguousEndsWithAnError) {
  std::string gbnf = "root ::= (";
  for (int i = 0; i < 2500; ++i) gbnf += (i == 0 ? "x" : " | x") + std::to_string(i);
  gbnf += ")\n";
  for (int i = 0; i < 2500; ++i) {
    const std::string name = "x" + std::to_string(i);
    gbnf += name + " ::= \"a\" \"" + name + "\" | \"a\" " + name + " \"b\"\n";
  }
  const Vocabulary vocabulary = SmallVocabulary().Make();
  ConstraintState state(Over(Gbnf(gbnf), vocabulary));
  Status status = state.Advance('a');
  for (int i = 0; i < 3 && status.ok(); ++i) status = state.Advance('a');
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(status.message().starts_with("grammar_too_complex")) << status.message();
}

}  // namespace
}  // namespace skald::grammar
