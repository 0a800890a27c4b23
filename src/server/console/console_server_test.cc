// The console over real sockets, with the bundled model.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/console/console_feed.h"
#include "server/test_client.h"
#include "server/test_server.h"
#include "skald/server.h"

namespace skald::server {
namespace {

constexpr std::string_view kFiles[] = {
    "/console",         "/console/style.css", "/console/console.js", "/console/figures.js",
    "/console/chat.js", "/console/icon.svg"};

// The data of the last event of this name in what a client has read.
std::string LastEvent(std::string_view read, std::string_view name) {
  const std::string head = "event: " + std::string(name) + "\ndata: ";
  const size_t at = read.rfind(head);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + head.size();
  return std::string(read.substr(begin, read.find('\n', begin) - begin));
}

std::string Watch(std::string_view key) {
  return key.empty() ? Get("/console/events") : WithKey("GET /console/events", key);
}

TEST(Console, ItsFilesAskForNothingElsewhereAndNeedNoKey) {
  const Running server({}, {.api_keys = "key-of-alice\n"});
  size_t bytes = 0;
  for (const std::string_view path : kFiles) {
    const std::string answer = Ask(server.port(), Get(path));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << path;
    EXPECT_TRUE(HeaderOf(answer, "content-security-policy").starts_with("default-src 'self';"))
        << path;
    const std::string body = BodyOf(answer);
    bytes += body.size();
    // But the name of the language of pictures.
    const size_t elsewhere = body.find("://");
    EXPECT_TRUE(elsewhere == std::string::npos || path == "/console/icon.svg") << path;
    EXPECT_EQ(body.find("style=\""), std::string::npos) << "its policy forbids it: " << path;
  }
  EXPECT_LT(bytes, 300'000u);
  EXPECT_TRUE(Ask(server.port(), Get("/console/events")).starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(Ask(server.port(), Get("/console/other")).starts_with("HTTP/1.1 401 "));
}

TEST(Console, TheRootLeadsThere) {
  const Running server;
  const std::string answer = Ask(server.port(), Get("/"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 307 Temporary Redirect\r\n")) << answer;
  EXPECT_EQ(HeaderOf(answer, "location"), "/console");
}

TEST(Console, TellsAllWithoutKeysWithTheTextOfPrefixes) {
  const Running server;
  Complete(server.port(), R"({"prompt":"The fox and the bear","max_tokens":4,"ignore_eos":true})");
  TestClient watcher(server.port());
  watcher.Send(Watch(""));
  std::string read = watcher.ReadUntil("event: tree\n");
  read += watcher.ReadUntil("\n\n");
  EXPECT_EQ(Member(LastEvent(read, "hello"), "model"), "\"tales\"");
  EXPECT_EQ(Member(LastEvent(read, "hello"), "admin"), "true");
  EXPECT_EQ(Member(LastEvent(read, "step"), "computing"), "false");
  EXPECT_EQ(Member(LastEvent(read, "pages"), "count"), "257")
      << "one more than positions need, to copy into";
  EXPECT_EQ(LastEvent(read, "requests"), "[]");
  EXPECT_TRUE(Texts(LastEvent(read, "tree"), "text").starts_with("<|endoftext|>The fox")) << read;
}

TEST(Console, ASecondKeySeesNothingOfTheFirst) {
  const Running server(
      {},
      {.api_keys = "key-of-alice name=alice\nkey-of-bob name=bob\nkey-of-root name=root admin"});
  // As many as take seconds: some are left when the last one has looked.
  std::vector<std::unique_ptr<TestClient>> streams;
  for (int i = 0; i < 12; ++i) {
    streams.push_back(std::make_unique<TestClient>(server.port()));
    streams.back()->Send(
        WithKey("POST /v1/completions", "key-of-alice",
                R"({"prompt":"The fox","max_tokens":480,"ignore_eos":true,"n":8,"stream":true})"));
  }
  EXPECT_NE(streams.front()->ReadUntil("data: "), "");
  const auto watch = [&](std::string_view key) {
    TestClient watcher(server.port());
    watcher.Send(Watch(key));
    std::string read = watcher.ReadUntil("event: tree\n");
    return read + watcher.ReadUntil("\n\n");
  };
  const std::string alice = watch("key-of-alice");
  EXPECT_TRUE(Texts(LastEvent(alice, "tree"), "text").starts_with("<|endoftext|>The fox")) << alice;
  EXPECT_NE(LastEvent(alice, "requests").find("cmpl-"), std::string::npos);
  EXPECT_EQ(LastEvent(alice, "step") + LastEvent(alice, "stats") + LastEvent(alice, "pages"), "");
  const std::string bob = watch("key-of-bob");
  EXPECT_EQ(bob.find("fox"), std::string::npos);
  EXPECT_EQ(LastEvent(bob, "requests"), "[]");
  EXPECT_EQ(LastEvent(bob, "tree"), R"({"edges":[]})");
  EXPECT_EQ(LastEvent(bob, "step") + LastEvent(bob, "stats") + LastEvent(bob, "pages"), "");
  const std::string root = watch("key-of-root");
  EXPECT_EQ(root.find("fox"), std::string::npos) << "an admin reads nobody's text";
  EXPECT_NE(LastEvent(root, "requests").find("\"tenant\":\"alice\""), std::string::npos);
  EXPECT_EQ(Texts(LastEvent(root, "tree"), "owner"), "alice");
  EXPECT_NE(LastEvent(root, "pages"), "");
}

TEST(Console, HasABoundedNumberOfWatchers) {
  const Running server;
  std::vector<std::unique_ptr<TestClient>> watchers;
  for (size_t i = 0; i < ConsoleFeed::kMostOfOne; ++i) {
    watchers.push_back(std::make_unique<TestClient>(server.port()));
    watchers.back()->Send(Watch(""));
    EXPECT_NE(watchers.back()->ReadUntil("event: hello"), "");
  }
  const std::string refused = Ask(server.port(), Get("/console/events"));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 429 ")) << refused;
  EXPECT_EQ(HeaderOf(refused, "retry-after"), "5");
  watchers.pop_back();
  EXPECT_TRUE(Soon([&] {
    TestClient next(server.port());
    next.Send(Watch(""));
    return next.ReadUntil("\r\n").starts_with("HTTP/1.1 200 ");
  })) << "who has gone makes room";
}

TEST(Console, ItsStreamsEndWhenTheServerDoes) {
  Running server;
  TestClient watcher(server.port());
  watcher.Send(Watch(""));
  EXPECT_NE(watcher.ReadUntil("event: hello"), "");
  server.Join();
  EXPECT_TRUE(watcher.ReadAll().ends_with("0\r\n\r\n"));
}

TEST(Console, TellsTheTruthDuringALongStep) {
  Engine engine = MakeEngine();
  const auto wedge = std::make_shared<Wedge>();
  engine.Look();
  ASSERT_TRUE(engine.Submit({.prompt = {1, 2, 3}, .stop = {.max_tokens = 1}}, wedge).ok());
  ASSERT_TRUE(Soon([&] { return engine.Stats().running == 1; }));
  const Running server(std::move(engine), {});
  EXPECT_EQ(Metric(server.port(), "skald_sequences_running"), 1);
  EXPECT_EQ(Member(BodyOf(Ask(server.port(), Get("/slots"))), "state"), "\"prefill\"");
  TestClient watcher(server.port());
  watcher.Send(Watch(""));
  std::string read = watcher.ReadUntil("event: tree\n");
  EXPECT_EQ(Member(LastEvent(read, "step"), "computing"), "true");
  EXPECT_EQ(Member(LastEvent(read, "step"), "prompt_rows"), "3");
  EXPECT_EQ(Member(LastEvent(read, "stats"), "running"), "1");
  EXPECT_EQ(Member(LastEvent(read, "requests"), "state"), "\"prefill\"");
  // Who comes while it lasts is there, too.
  TestClient second(server.port());
  second.Send(Post("/v1/completions", R"({"prompt":"The fox","max_tokens":2})"));
  EXPECT_TRUE(Soon([&] {
    read += watcher.ReadUntil("event: ");
    return LastEvent(read, "requests").find("cmpl-") != std::string::npos;
  }));
  EXPECT_EQ(Member(LastEvent(read, "stats"), "waiting"), "1");
  EXPECT_EQ(Member(BodyOf(Ask(server.port(), Get("/slots"))), "waiting"), "1");
  wedge->LetGo();
  EXPECT_TRUE(second.ReadUntil("\r\n").starts_with("HTTP/1.1 200 "));
}

// A page of ours sends its origin with what it posts.
TEST(Console, ItsPageMayAskOnAnyAddressThatTheServerHas) {
  const Running server({}, {.host = "0.0.0.0", .api_keys = "key-of-alice\n"});
  const auto ask = [&](std::string_view origin) {
    return Ask(server.port(),
               "GET /v1/models HTTP/1.1\r\nHost: box:8080\r\nConnection: close\r\n"
               "Authorization: Bearer key-of-alice\r\nOrigin: " +
                   std::string(origin) + "\r\n\r\n");
  };
  EXPECT_TRUE(ask("http://box:8080").starts_with("HTTP/1.1 200 "));
  for (const char* other : {"http://box:8081", "http://evil:8080", "null", "http://", "box:8080"})
    EXPECT_TRUE(ask(other).starts_with("HTTP/1.1 403 ")) << other;
}

}  // namespace
}  // namespace skald::server
