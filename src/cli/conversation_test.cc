#include "cli/conversation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skald::cli {
namespace {

// The messages that these lines make, each in brackets.
std::string Read(const std::vector<std::string>& lines) {
  MessageReader reader;
  std::string messages;
  for (const std::string& line : lines)
    if (reader.Add(line)) messages += "[" + reader.text() + "]";
  return messages + (reader.pending() ? "..." : "");
}

TEST(MessageReaderTest, ALineIsAMessageUnlessItGoesOn) {
  EXPECT_EQ(Read({"a", "", "b"}), "[a][][b]");
  EXPECT_EQ(Read({"a\\", "b\\", "c", "d"}), "[a\nb\nc][d]");
  EXPECT_EQ(Read({"a\\"}), "...");
}

TEST(MessageReaderTest, QuotesHoldLines) {
  EXPECT_EQ(Read({"\"\"\"one", "", "two\"\"\"", "x"}), "[one\n\ntwo][x]");
  EXPECT_EQ(Read({"\"\"\"", "one", "\"\"\""}), "[one\n]");
  EXPECT_EQ(Read({"\"\"\"one\"\"\""}), "[one]");
  EXPECT_EQ(Read({"\"\"\"a\\", "b"}), "...");
}

TEST(ConversationTest, WhatIsSavedIsLoaded) {
  const Conversation said{"Be brief.", {{Speaker::kUser, "\"Hi\"\n"}, {Speaker::kAssistant, "é"}}};
  const auto loaded = ParseConversation(ConversationJson(said));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->system, "Be brief.");
  ASSERT_EQ(loaded->messages.size(), 2U);
  EXPECT_EQ(loaded->messages[0].text, "\"Hi\"\n");
  EXPECT_EQ(loaded->messages[1].speaker, Speaker::kAssistant);
}

TEST(ConversationTest, OtherFilesAreRefused) {
  for (const char* json :
       {"", "[]", "{}", R"({"messages": [1]})", R"({"messages": [{"role": "user"}]})",
        R"({"messages": [{"role": "tool", "content": ""}]})",
        R"({"messages": [{"role": "user", "content": ""}, {"role": "system", "content": ""}]})"})
    EXPECT_FALSE(ParseConversation(json).ok()) << json;
}

TEST(ConversationTest, TurnsAreDroppedWholeAndNeverTheLast) {
  const std::vector<Message> messages{{Speaker::kUser, "a"},
                                      {Speaker::kAssistant, "b"},
                                      {Speaker::kUser, "c"},
                                      {Speaker::kAssistant, "d"},
                                      {Speaker::kUser, "e"}};
  EXPECT_EQ(NextTurn(messages, 0), 2U);
  EXPECT_EQ(NextTurn(messages, 2), 4U);
  EXPECT_EQ(NextTurn(messages, 4), 4U);
}

}  // namespace
}  // namespace skald::cli
