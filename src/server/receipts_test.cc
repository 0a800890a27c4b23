#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "server/test_server.h"
#include "skald/receipt.h"

namespace skald::server {
namespace {

ServerOptions WithReceipts() {
  ServerOptions options;
  options.receipts = KvCacheTypes{};
  return options;
}

// The receipt of an answer, or nothing; `count` of them must be there.
std::string ReceiptIn(std::string_view answer, int count = 1) {
  constexpr std::string_view kName = "\"receipt\":";
  const size_t begin = answer.find(kName) + kName.size();
  int found = 0;
  for (size_t at = 0; (at = answer.find(kName, at)) != std::string_view::npos; ++at) ++found;
  EXPECT_EQ(found, count) << answer;
  if (found == 0) return {};
  // Its last member is the seal.
  const size_t end = answer.find("\"}", answer.find("\"seal\":", begin)) + 2;
  return std::string(answer.substr(begin, end - begin));
}

// An error of parsing fails the test.
Verdict Verify(const std::string& text) {
  const Result<Receipt> receipt = ParseReceipt(text);
  EXPECT_TRUE(receipt.ok()) << receipt.status().message();
  return receipt.ok() ? *VerifyReceipt(Tales(), *receipt, {.threads = 1}) : Verdict{};
}

TEST(ServerReceipts, HoldWholeAndAtTheEndOfAStream) {
  const Running server({.context = 256}, WithReceipts());
  const std::string fields =
      R"("prompt":"The fox","max_tokens":9,"seed":-5,"top_p":0.9,"stop":["zzz"],"receipt":true)";
  const std::string whole = ReceiptIn(Complete(server.port(), "{" + fields + "}"));
  const Verdict verdict = Verify(whole);
  EXPECT_TRUE(verdict.holds) << verdict.message;
  EXPECT_NE(whole.find("\"seed\":\"18446744073709551611\""), std::string::npos) << whole;
  const std::string stream = Complete(server.port(), "{" + fields + R"(,"stream":true})");
  EXPECT_EQ(ReceiptIn(stream), whole);
  EXPECT_LT(stream.find("\"finish_reason\":\"length\""), stream.find("\"receipt\":")) << stream;
  EXPECT_LT(stream.find("\"receipt\":"), stream.find("data: [DONE]")) << stream;
}

TEST(ServerReceipts, NameTheTemplateOfAConversation) {
  const Running server({.context = 256}, WithReceipts());
  const std::string answer =
      Ask(server.port(), Post("/v1/chat/completions",
                              R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":5,)"
                              R"("receipt":true})"));
  const std::string text = ReceiptIn(answer);
  EXPECT_EQ(ParseReceipt(text)->template_sha256.size(), 64u);
  const Verdict verdict = Verify(text);
  EXPECT_TRUE(verdict.holds) << verdict.message;
}

TEST(ServerReceipts, AreForThoseWhoAsk) {
  const Running server({.context = 256}, WithReceipts());
  ReceiptIn(Complete(server.port(), R"({"prompt":"The","max_tokens":2})"), 0);
  ReceiptIn(Complete(server.port(), R"({"prompt":"The","max_tokens":2,"receipt":false})"), 0);
}

TEST(ServerReceipts, AreRefusedByName) {
  const Running server({.context = 256}, WithReceipts());
  const auto message = [](const Running& of, const std::string& fields) {
    const std::string answer =
        Complete(of.port(), R"({"max_tokens":4,"receipt":true,"prompt":)" + fields + "}");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_EQ(Member(answer, "param"), "\"receipt\"") << answer;
    return Texts(answer, "message");
  };
  EXPECT_EQ(message(server, R"("The","n":2)"),
            "a receipt is of one choice: n and best_of must be 1");
  EXPECT_EQ(message(server, R"("The","best_of":2)"),
            "a receipt is of one choice: n and best_of must be 1");
  EXPECT_EQ(message(server, R"(["a","b"])"),
            "a receipt is of one choice: there must be one prompt");
  EXPECT_EQ(message(server, R"("The","guided_regex":"a+")"),
            "no receipt for an answer that a grammar holds to a form: what it allows is no part "
            "of a receipt");
  const Running without({.context = 256});
  EXPECT_EQ(message(without, R"("The")"), "this server gives no receipts (skald serve --receipts)");
}

}  // namespace
}  // namespace skald::server
