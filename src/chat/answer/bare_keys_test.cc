// Keys without quotes that no schema declares: what their masks say, and what these cost.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/answer/answer_for_test.h"
#include "grammar/constraint_state.h"
#include "grammar/limits.h"
#include "grammar/test_walk.h"
#include "skald/chat_grammar.h"
#include "support/cost.h"

namespace skald::chat {
namespace {

using grammar::ConstraintState;

constexpr std::string_view kOpen =
    R"({"properties":{"name":{"type":"integer"},"nab":{"type":"string","maxLength":3}},)"
    R"("additionalProperties":{"type":"integer","maximum":99}})";

Grammar Arguments(std::string_view format, std::string_view schema) {
  const TestFormat made = MakeFormat(format, "", Spelling::kText);
  CompileBudget budget;
  const ChatTool tool = {
      .name = "f",
      .parameters = {{"name", ChatTool::Kind::kValue}, {"nab", ChatTool::Kind::kString}}};
  Result<Grammar> grammar =
      MakeCallArguments(made.format, tool, schema, SchemaMode::kStrict, &budget);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return *std::move(grammar);
}

// All bytes, and `pieces`.
Constraint Over(const Grammar& grammar, std::vector<std::string> pieces) {
  for (int byte = 0; byte < 256; ++byte) pieces.emplace_back(1, static_cast<char>(byte));
  const std::vector<std::string_view> views(pieces.begin(), pieces.end());
  Result<Constraint> constraint = Constraint::Create(grammar, Vocabulary::FromBytes(views));
  EXPECT_TRUE(constraint.ok()) << constraint.status().message();
  return *std::move(constraint);
}

// Tokens that stay in a key, end it, go on behind it and up to the next one.
const std::vector<std::string> kPieces = {
    "na",         "name",         "nab",  "nabx",   "a_b",    "x.y", "-1",   "a=",       "a=1",
    "=1, b=2",    "b:",           "b:1",  ":1,",    "c:1,d",  "a>",  "a>\n", ">\n1\n</", "b>\n7",
    "</arg_key>", "b</arg_key><", "<arg", "=7, na", "x=1, x", "1,a", ", a"};

TEST(BareKeys, MasksAreWhatEachTokenAloneSays) {
  for (const char* format : {"qwen3-coder", "glm", "gemma4", "lfm2", "deepseek-v3.2"}) {
    SCOPED_TRACE(format);
    const Constraint constraint = Over(Arguments(format, kOpen), kPieces);
    for (uint64_t seed = 0; seed < 6; ++seed)
      grammar::CheckWalk(constraint, {.seed = seed, .tokens = 40});
  }
}

TEST(BareKeys, AreBoundedUnlessDeclared) {
  const std::string declared(300, 'd');
  const Grammar grammar = Arguments(
      "lfm2", R"({"properties":{")" + declared + R"(":{}},"additionalProperties":{"maximum":9}})");
  const auto takes = [&](size_t length, char letter) {
    return CheckText(grammar, std::string(length, letter) + "=1").may_end;
  };
  constexpr size_t kMost = grammar::kBareKeyBytesMax;
  EXPECT_TRUE(takes(kMost, 'a'));
  EXPECT_FALSE(takes(kMost + 1, 'a'));
  EXPECT_TRUE(takes(kMost, 'd'));
  EXPECT_FALSE(takes(kMost + 1, 'd'));
  EXPECT_TRUE(takes(declared.size(), 'd'));
  // Where tokens would cross the bound.
  const Constraint constraint = Over(grammar, kPieces);
  const std::string text(kMost - 3, 'a');
  ConstraintState state(constraint);
  for (size_t i = 0; i < text.size(); ++i)
    ASSERT_TRUE(state.Advance(static_cast<TokenId>(kPieces.size() + 'a')).ok());
  EXPECT_EQ(grammar::MaskOf(state, constraint.vocabulary().size()),
            grammar::EachAlone(constraint, text, state));
}

// Nine of ten tokens of a vocabulary may go on in a key: they are looked at once for all places.
TEST(BareKeys, AMaskIsMadeOnce) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 4000; ++i) pieces.push_back("w" + std::to_string(i));
  const auto letter = static_cast<TokenId>(pieces.size() + 'q');
  const Constraint constraint = Over(Arguments("lfm2", kOpen), pieces);
  ConstraintState state(constraint);
  const auto allocations = [&] {
    return test::CostOf([&] { grammar::MaskOf(state, constraint.vocabulary().size()); })
        .allocations;
  };
  ASSERT_TRUE(state.Advance(letter).ok());
  EXPECT_LT(allocations(), 1000);  // a row for each token would be more than ten times as many
  ASSERT_TRUE(state.Advance(letter).ok());
  EXPECT_LT(allocations(), 100);
}

}  // namespace
}  // namespace skald::chat
