#include "skald/constraint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "grammar/constraint_state.h"
#include "grammar/free_text.h"
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
      Schema("{\"type\":\"object\",\"properties\":{\"name\":{}},\"required\":[\"name\"]}"),
      Schema("{\"type\":\"object\",\"required\":[\"ab\"],\"maxProperties\":1}"),
      Schema("{\"type\":\"object\",\"propertyNames\":{\"enum\":[\"a\",\"ab\",\"abc\"]},"
             "\"minProperties\":2}"),
      Schema("{\"type\":\"object\",\"patternProperties\":{\"^a\":{\"type\":\"integer\"}},"
             "\"additionalProperties\":{\"type\":\"string\"},\"maxProperties\":3}"),
      // Keys without end, very many and few of them.
      Schema("{\"type\":\"object\",\"propertyNames\":{\"maxLength\":1},\"additionalProperties\":"
             "{\"enum\":[1]}}"),
      Schema("{\"type\":\"object\",\"propertyNames\":{\"maxLength\":9},\"additionalProperties\":"
             "{\"type\":\"boolean\"}}"),
      Schema("{\"type\":\"object\",\"propertyNames\":{\"maxLength\":40,\"minLength\":2},"
             "\"properties\":{\"order\":{\"enum\":[1]}},\"maxProperties\":4}"),
      Schema("{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^([ab]{0,7}|x.*|c.{1,3})$\"},"
             "\"additionalProperties\":{\"enum\":[1]}}"),
      Schema("{\"anyOf\":[{\"type\":\"string\",\"format\":\"date\"},{\"type\":\"integer\"}]}"),
      Gbnf("root ::= \"(\" root \")\" | [a-c]* | root \",\" root"),
      Gbnf("root ::= (\"a\" | \"ab\" | \"abc\")* \"order\"? .?"),
      Gbnf("root ::= item{2,300} \"\\n\"\nitem ::= [^\\x00-\\x1F]{1,3} \" \""),
      Gbnf("root ::= unit{2,300} \"!\"\nunit ::= \"t\" | \"true\" | \"rx\""),
      Regex("[a-z]{3,8}(Id)?\\.?"),
      Regex("[a-z ]{1,30}"),
      Regex("[A-Za-z ]{2,9}[A-Za-z0-9 ]{1,9}!?"),
      Schema("{\"type\":\"string\",\"pattern\":\"^[A-Z][a-z ]{0,20}[A-Za-z .]{1,9}$\"}"),
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

// With too little effort a mask is none, with enough it is the one that no bound would give; and
// what was given up leaves nothing behind that another one could see.
TEST(Constraint, AMaskWithABoundIsWholeOrNone) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  int given_up = 0;
  for (const Grammar& grammar : Grammars()) {
    const Constraint constraint = Over(grammar, vocabulary);
    const Constraint untouched = Over(grammar, vocabulary);
    ConstraintState state(constraint);
    ConstraintState other(untouched);
    std::vector<uint64_t> mask(vocabulary.table().mask_words());
    std::vector<uint64_t> whole(mask.size());
    std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same each time
    for (int step = 0; step < 20 && !state.must_end(); ++step) {
      ASSERT_TRUE(other.FillMask(whole).ok());
      Status status;
      for (int64_t steps = 0;; steps = 2 * steps + 1) {
        MaskBudget budget = {.steps = steps};
        status = state.FillMask(mask, &budget);
        ASSERT_LE(budget.steps, steps);
        if (status.ok()) break;
        ASSERT_LT(budget.steps, 0);
        ASSERT_EQ(status.code(), ErrorCode::kCancelled) << status.message();
        ++given_up;
      }
      ASSERT_EQ(mask, whole);
      std::vector<TokenId> allowed;
      for (TokenId id = 0; id < vocabulary.size(); ++id)
        if ((mask[static_cast<size_t>(id) / 64] >> (id & 63)) & 1) allowed.push_back(id);
      if (allowed.empty()) break;
      const TokenId token = allowed[random() % allowed.size()];
      ASSERT_TRUE(state.Advance(token).ok());
      ASSERT_TRUE(other.Advance(token).ok());
    }
  }
  EXPECT_GT(given_up, 1000);
}

// Who makes a mask asks now and then whether anybody wants it, and a first one is asked about, too.
TEST(Constraint, AMaskIsStoppedWhenNobodyWantsIt) {
  const Vocabulary vocabulary = ManyWords();
  const Grammar grammar = Regex("(.*[a-f].{30}){20}");
  const auto at_once = [] { return true; };
  const auto never = [] { return false; };
  const Result<Constraint> stopped = Constraint::Create(grammar, vocabulary, StopCheck(at_once));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.status().code(), ErrorCode::kCancelled);
  const Result<Constraint> made = Constraint::Create(grammar, vocabulary, StopCheck(never));
  ASSERT_TRUE(made.ok());
  ConstraintState state(*made);
  ASSERT_TRUE(state.Advance('a').ok());
  std::vector<uint64_t> mask(vocabulary.table().mask_words());
  MaskBudget none = {.stop = StopCheck(at_once)};
  EXPECT_EQ(state.FillMask(mask, &none).code(), ErrorCode::kCancelled);
  MaskBudget any = {.stop = StopCheck(never)};
  EXPECT_TRUE(state.FillMask(mask, &any).ok());
}

// A key that is as long as it may be is free only if it did not come.
TEST(Constraint, AMaskOfShortKeysKnowsTheKeysThatCame) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  for (int most = 1; most < 6; ++most) {
    const Constraint constraint = Over(
        Schema("{\"type\":\"object\",\"propertyNames\":{\"maxLength\":" + std::to_string(most) +
               "},\"additionalProperties\":{\"enum\":[1]}}"),
        vocabulary);
    for (const std::string whole :
         {"{\"a\":1,\"b", "{\"order\":1,\"abc\":1,\"orde", "{\"ab\":1,\"na"}) {
      ConstraintState state(constraint);
      std::string text;
      for (const char byte : whole) {
        EXPECT_EQ(MaskOf(state, vocabulary.size()), EachAlone(constraint, text, state)) << text;
        if (!state.Advance(byte).ok()) break;
        text += byte;
      }
    }
  }
}

// Where few keys are left they are compared with those that came.
TEST(Constraint, AMaskBehindManyKeysIsWhatEachTokenAloneSays) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  for (const char* pattern : {"^[ab]{1,6}$", "^([ab]{1,6}|x.*|c.{1,3})$"}) {
    const Constraint constraint =
        Over(Schema("{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"" +
                    std::string(pattern) + "\"},\"additionalProperties\":{\"enum\":[1]}}"),
             vocabulary);
    ConstraintState state(constraint);
    std::string text = "{";
    const auto write = [&](const std::string& more) {
      for (const char byte : more) ASSERT_TRUE(state.Advance(byte).ok()) << text << more;
      text += more;
    };
    ASSERT_TRUE(state.Advance('{').ok());
    for (int key = 0; key < 126; ++key) {
      // All of one letter, of two, and so on.
      std::string name;
      for (int left = key + 2; left > 1; left /= 2) name += left % 2 == 0 ? 'a' : 'b';
      write("\"");
      for (const char letter : name) {
        const bool looks = key < 2 || (key > 60 && key < 68) || key > 120;
        if (looks) {
          EXPECT_EQ(MaskOf(state, vocabulary.size()), EachAlone(constraint, text, state));
        }
        write(std::string(1, letter));
      }
      write("\":1");
      if (key < 125) write(",");
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

// Masks inside of a key are copied from one place to the next, as those of a string are; but what
// ends there must not be a key that came, be it before this one or this one itself, and a token may
// lead into the next key.
TEST(Constraint, AMaskInsideOfAKeyKnowsTheKeysThatCame) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.insert(tokens.end(), {"b\"", "\":1,\"z", "\":1,\"ya\"", "b\":1,\"yb\""});
  for (const size_t count : {tokens.size() - 2, tokens.size()}) {
    const Vocabulary vocabulary = Vocabulary::FromBytes(
        std::vector<std::string_view>(tokens.begin(), tokens.begin() + count));
    for (const char* schema : {R"({"type":"object"})", R"({"properties":{"xab":{}}})",
                               R"({"type":"object","maxProperties":5})"}) {
      ConstraintState state(Over(Schema(schema), vocabulary));
      const auto read = [&](TokenId token) {
        ASSERT_TRUE(state.Advance(token).ok()) << token;
        std::vector<TokenId> allowed;
        for (TokenId id = 0; id < vocabulary.size(); ++id)
          if (state.Allows(id)) allowed.push_back(id);
        EXPECT_EQ(MaskOf(state, vocabulary.size()), allowed) << schema << " behind " << token;
      };
      for (const char byte : std::string_view(R"({"ab":1,"a":2,"xx":3,"ya)"))
        read(static_cast<uint8_t>(byte));
      read(257);
    }
  }
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

// In what follows @ and ~ stand for two of them. The oracle: the same grammar with a byte that
// stands nowhere else for each token.
TEST(Constraint, ControlTokensAreSymbolsOfTheirOwn) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  const auto first = static_cast<TokenId>(vocabulary.size()) - 3;  // without text, as the last one
  const TokenId last = first + 2;
  const auto with = [](std::string gbnf, const std::string& one, const std::string& other) {
    for (size_t at = 0; (at = gbnf.find_first_of("@~", at)) != std::string::npos;)
      gbnf.replace(at, 1, gbnf[at] == '@' ? one : other);
    return gbnf;
  };
  const auto token = [](TokenId id) { return "<[" + std::to_string(id) + "]>"; };
  for (const char* gbnf :
       {"root ::= [a-z ]* (@ [a-z]+ ~ [a-z ]*)*", "root ::= @ | \"a\" @ @",
        "root ::= (@ | \"name\" ~)* \"order\"?", "root ::= x @ x ~\nx ::= [a-c]+ | x \",\" x",
        "root ::= item (\"\\n\" item)*\nitem ::= (@ | ~){300} | \"abc\" @ item ~"}) {
    ConstraintState state(Over(Gbnf(with(gbnf, token(first), token(last))), vocabulary));
    ConstraintState oracle(Over(Gbnf(with(gbnf, "\"\\x01\"", "\"\\x02\"")), vocabulary));
    std::mt19937_64 random(7);
    for (int step = 0; step < 60 && !state.must_end(); ++step) {
      std::vector<TokenId> expected;
      for (TokenId id : MaskOf(oracle, vocabulary.size())) {
        if (id == 1 || id == 2) id = id == 1 ? first : last;
        expected.push_back(id);
      }
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(MaskOf(state, vocabulary.size()), expected) << gbnf;
      for (TokenId id = 0; id < last + 2; ++id)
        EXPECT_EQ(state.Allows(id), std::binary_search(expected.begin(), expected.end(), id));
      EXPECT_EQ(state.may_end(), oracle.may_end());
      const TokenId next = expected[random() % expected.size()];
      ASSERT_TRUE(state.Advance(next).ok());
      ASSERT_TRUE(oracle.Advance(next == first ? 1 : next == last ? 2 : next).ok());
    }
  }
}

TEST(Constraint, ControlTokensMustBeSome) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  for (const TokenId token : {TokenId{'a'}, static_cast<TokenId>(vocabulary.size())}) {
    const Grammar grammar = Gbnf("root ::= \"x\" <[" + std::to_string(token) + "]>");
    const Result<Constraint> constraint = Constraint::Create(grammar, vocabulary);
    ASSERT_FALSE(constraint.ok());
    EXPECT_NE(constraint.status().message().find("the token " + std::to_string(token)),
              std::string::npos);
  }
}

TEST(Constraint, NoBytesAreForcedWhereATokenMayFollow) {
  const Vocabulary vocabulary = SmallVocabulary().Make();
  const std::string token = "<[" + std::to_string(vocabulary.size() - 1) + "]>";
  ConstraintState state(Over(Gbnf("root ::= \"ab\" (\"c\" | " + token + ") \"d\""), vocabulary));
  EXPECT_EQ(state.ForcedBytes(100), "ab");
  ASSERT_TRUE(state.Advance('a').ok());
  ASSERT_TRUE(state.Advance('b').ok());
  EXPECT_EQ(state.ForcedBytes(100), "");
  ASSERT_TRUE(state.Advance(static_cast<TokenId>(vocabulary.size() - 1)).ok());
  EXPECT_EQ(state.ForcedBytes(100), "d");
}

TEST(Constraint, AControlTokenIsForcedWhereNothingElseMayFollow) {
  const Vocabulary vocabulary =
      Vocabulary::FromBytes(std::vector<std::string_view>{"d", "", "", "e"});
  const auto forced = [&](const std::string& rules) {
    return ConstraintState{Over(Gbnf("root ::= " + rules), vocabulary)}.ForcedToken();
  };
  EXPECT_EQ(forced("<[1]> \"d\""), 1);
  // Two rules begin with the same one.
  EXPECT_EQ(forced("<[1]> \"d\" | x\nx ::= <[1]> \"e\""), 1);
  EXPECT_EQ(forced("\"d\" | <[1]>"), kNoToken);
  EXPECT_EQ(forced("\"d\""), kNoToken);
  EXPECT_EQ(forced("<[1]>?"), kNoToken);
  EXPECT_EQ(forced("<[1]> | <[2]>"), kNoToken);
}

// Against a search for what is forbidden.
TEST(FreeText, IsAnyTextButWhatIsForbidden) {
  Fuel fuel;
  const Forbidden forbidden = {
      .anywhere = Choice({TextExpression(U"aab"), TextExpression(U"\u00e9c")}),
      .at_begin = Sequence({Repeat(TextExpression(U" "), 0, kUnbounded), TextExpression(U"<a")})};
  const Result<Form> form = FreeText(forbidden, &fuel);
  ASSERT_TRUE(form.ok()) << form.status().message();
  ASSERT_EQ(form->rules.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Leaf>(form->rules[0]));
  const Grammar grammar = Grammar::FromForm(*form);
  std::mt19937_64 random(1);
  int taken = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint64_t i = random() % 9; i > 0; --i)
      text += std::vector<std::string>{"a", "b", "c", "<", " ", "\xC3\xA9"}[random() % 6];
    const size_t begin = text.find_first_not_of(' ');
    const bool good = text.find("aab") == std::string::npos &&
                      text.find(
                          "\xC3\xA9"
                          "c") == std::string::npos &&
                      (begin == std::string::npos || text.substr(begin, 2) != "<a");
    EXPECT_EQ(CheckText(grammar, text).verdict == GrammarVerdict::kAccepted, good) << text;
    taken += good;
  }
  EXPECT_GT(taken, 1000);
  EXPECT_LT(taken, 2900);
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
