#include "cli/agent_conversation.h"

#include <gtest/gtest.h>

#include <numeric>

namespace skald::cli {
namespace {

const TrafficShape kShape = {.kind = TrafficKind::kAgent,
                             .num_prompts = 8,
                             .prefix_len = 100,
                             .input_len = 10,
                             .output_len = 6};

// What a conversation asks if every answer is 1, 2, 3, ... of as many tokens as it may have.
std::vector<std::vector<AgentRequest>> AllTurns() {
  AgentConversation conversation(kShape, 10'000);
  std::vector<std::vector<AgentRequest>> turns;
  for (auto turn = conversation.NextTurn(); !turn.empty(); turn = conversation.NextTurn()) {
    std::vector<TokenId> answer(static_cast<size_t>(turn[0].request.output_tokens));
    std::iota(answer.begin(), answer.end(), 1);
    conversation.TakeAnswer(answer);
    turns.push_back(std::move(turn));
  }
  return turns;
}

const std::vector<TokenId>& Prompt(const AgentRequest& request) { return request.request.prompt; }

TEST(AgentConversation, BringsEverythingAgainWithoutTheThinking) {
  const auto turns = AllTurns();
  ASSERT_EQ(turns.size(), 8u);
  EXPECT_EQ(Prompt(turns[0][0]).size(), 110u);
  const std::vector<TokenId>& second = Prompt(turns[1][0]);
  EXPECT_EQ(second.size(), 110u + 3 + 10);  // half of the answer is thinking
  EXPECT_TRUE(std::equal(Prompt(turns[0][0]).begin(), Prompt(turns[0][0]).end(), second.begin()));
  EXPECT_EQ(std::vector<TokenId>(second.begin() + 110, second.begin() + 113),
            (std::vector<TokenId>{4, 5, 6}));
}

TEST(AgentConversation, EditsTheSecondHalfOfTheLastMessageInEveryFifthTurn) {
  const auto turns = AllTurns();
  EXPECT_EQ(turns[3][0].step, AgentStep::kMessage);
  EXPECT_EQ(turns[4][0].step, AgentStep::kEdit);
  const std::vector<TokenId>& before = Prompt(turns[3][0]);
  const std::vector<TokenId>& edited = Prompt(turns[4][0]);
  ASSERT_EQ(edited.size(), before.size());
  const auto parts = std::mismatch(before.begin(), before.end(), edited.begin());
  EXPECT_EQ(before.end() - parts.first, 5);
  // The turn behind goes on from the edited one.
  EXPECT_TRUE(std::equal(edited.begin(), edited.end(), Prompt(turns[5][0]).begin()));
}

TEST(AgentConversation, AsksTwoSideQuestionsInEveryFourthTurn) {
  const auto turns = AllTurns();
  for (size_t i = 0; i < turns.size(); ++i)
    EXPECT_EQ(turns[i].size(), (i + 1) % 4 == 0 ? 3u : 1u) << i;
  const std::vector<AgentRequest>& fourth = turns[3];
  EXPECT_EQ(fourth[1].step, AgentStep::kSideQuestion);
  EXPECT_NE(Prompt(fourth[1]), Prompt(fourth[2]));
  const auto parts =
      std::mismatch(Prompt(fourth[0]).begin(), Prompt(fourth[0]).end(), Prompt(fourth[1]).begin());
  EXPECT_EQ(Prompt(fourth[0]).end() - parts.first, 10);  // all but the message is the same
}

TEST(AgentConversation, KnowsAnUpperBoundOfItsLength) {
  const AgentConversation conversation(kShape, 10'000);
  for (const auto& turn : AllTurns()) {
    for (const AgentRequest& asked : turn)
      EXPECT_LE(static_cast<int64_t>(Prompt(asked).size()) + asked.request.output_tokens,
                conversation.longest());
  }
}

TEST(NewTokens, AreThoseBehindTheLongestCommonBeginning) {
  NewTokens tokens;
  const std::vector<TokenId> prompt = {1, 2, 3, 4, 5};
  EXPECT_EQ(tokens.Count(prompt), 5);
  tokens.Add({1, 2, 9});
  EXPECT_EQ(tokens.Count(prompt), 3);
  tokens.Add({1, 2, 3, 4});
  EXPECT_EQ(tokens.Count(prompt), 1);
  tokens.Add({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(tokens.Count(prompt), 0);
}

}  // namespace
}  // namespace skald::cli
