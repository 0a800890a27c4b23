#include "server/message_json.h"

#include <gtest/gtest.h>

#include <string>

namespace skald::server {
namespace {

using Kind = ChatPiece::Kind;

const std::vector<ChatPiece> kPieces = {
    {.kind = Kind::kReasoning, .text = "r"},
    {.kind = Kind::kText, .text = "a"},
    {.kind = Kind::kCall, .text = "f", .id = "c0"},
    {.kind = Kind::kArguments, .text = "{\"x\":"},
    {.kind = Kind::kArguments, .text = "1}"},
    {.kind = Kind::kCall, .text = "g", .call_index = 1, .id = "c1"}};

std::string Written(const std::vector<ChatPiece>& pieces, CallForm form = CallForm::kTools) {
  JsonWriter json;
  json.BeginObject();
  WriteMessage(pieces, form, json);
  json.EndObject();
  return json.Take();
}

std::string Delta(const ChatPiece& piece, CallForm form = CallForm::kTools) {
  JsonWriter json;
  json.BeginObject();
  WriteDelta(piece, form, json);
  json.EndObject();
  return json.Take();
}

TEST(WriteMessage, WritesTextReasoningAndCalls) {
  EXPECT_EQ(Written(kPieces),
            R"({"content":"a","reasoning_content":"r","tool_calls":[)"
            R"({"id":"c0","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},)"
            R"({"id":"c1","type":"function","function":{"name":"g","arguments":""}}]})");
  EXPECT_EQ(Written(kPieces, CallForm::kFunction),
            R"({"content":"a","reasoning_content":"r",)"
            R"("function_call":{"name":"f","arguments":"{\"x\":1}"}})");
}

TEST(WriteMessage, HasNoContentBesideReasoningOrCallsIfThereIsNone) {
  EXPECT_EQ(Written({kPieces[0]}), R"({"content":null,"reasoning_content":"r"})");
  EXPECT_EQ(Written({kPieces[1]}), R"({"content":"a"})");
  EXPECT_EQ(Written({}), R"({"content":""})");
}

TEST(WriteDelta, WritesEachPieceAsClientsPutThemTogether) {
  EXPECT_EQ(Delta(kPieces[0]), R"({"reasoning_content":"r"})");
  EXPECT_EQ(Delta(kPieces[2]), R"({"tool_calls":[{"index":0,"id":"c0","type":"function",)"
                               R"("function":{"name":"f","arguments":""}}]})");
  EXPECT_EQ(Delta(kPieces[3]),
            R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]})");
  EXPECT_EQ(Delta(kPieces[2], CallForm::kFunction),
            R"({"function_call":{"name":"f","arguments":""}})");
}

TEST(AppendPieces, JoinsWhatBelongsTogether) {
  std::vector<ChatPiece> all;
  EXPECT_EQ(AppendPieces({kPieces[1]}, &all), 0);
  EXPECT_EQ(AppendPieces({kPieces[1]}, &all), 0);
  EXPECT_GT(AppendPieces({kPieces[2], kPieces[3]}, &all), 0);
  AppendPieces({kPieces[4]}, &all);
  AppendPieces({kPieces[5]}, &all);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].text, "aa");
  EXPECT_EQ(all[2].text, "{\"x\":1}");
  EXPECT_EQ(all[3].id, "c1");
}

}  // namespace
}  // namespace skald::server
