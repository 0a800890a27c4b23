// The server with keys: who may do what, and how much of it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/refusal_delays.h"
#include "server/test_client.h"
#include "server/test_server.h"
#include "skald/server.h"

namespace skald::server {
namespace {

TEST(Server, SlotsShowARequestToItsOwnKeyOnly) {
  const Running server({}, {.api_keys = "key-of-alice\nkey-of-bob\nkey-of-admin admin\n"});
  TestClient stream(server.port());
  stream.Send(
      WithKey("POST /v1/completions", "key-of-alice",
              R"({"prompt":"The fox","max_tokens":480,"ignore_eos":true,"n":8,"stream":true})"));
  std::string own;
  EXPECT_TRUE(Soon([&] {
    own = Ask(server.port(), WithKey("GET /slots", "key-of-alice"));
    return Member(own, "state") == "\"decode\"";
  })) << own;
  EXPECT_TRUE(Member(own, "id").starts_with("\"cmpl-")) << own;
  EXPECT_EQ(Member(own, "sequences"), "8");
  EXPECT_EQ(Member(own, "prompt_tokens"), "3");
  EXPECT_GT(std::stoi(Member(own, "output_tokens")), 0);
  EXPECT_EQ(own.find("fox"), std::string::npos) << "no text";
  const std::string others = Ask(server.port(), WithKey("GET /slots", "key-of-bob"));
  EXPECT_EQ(BodyOf(others), "{\"requests\":[]}");
  const std::string all = Ask(server.port(), WithKey("GET /slots", "key-of-admin"));
  EXPECT_EQ(Member(all, "running"), "8");
  EXPECT_EQ(Member(all, "id"), Member(own, "id"));
}

TEST(Server, ShowsMetricsToAdminsOnly) {
  const Running server({}, {.api_keys = "key-of-alice\nkey-of-admin name=root admin\n"});
  EXPECT_TRUE(
      Ask(server.port(), WithKey("GET /metrics", "key-of-admin")).starts_with("HTTP/1.1 200"));
  const std::string refused = Ask(server.port(), WithKey("GET /metrics", "key-of-alice"));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 403 ")) << refused;
  EXPECT_EQ(refused.find("skald_"), std::string::npos);
  EXPECT_TRUE(Ask(server.port(), Get("/metrics")).starts_with("HTTP/1.1 401 "));
}

TEST(Server, HasADoorForMonitorsWithoutKeys) {
  const Running server({}, {.admin_listen = "127.0.0.1:0", .api_keys = "key-of-alice\n"});
  ASSERT_NE(server.admin_port(), 0);
  TestClient stream(server.port());
  stream.Send(
      WithKey("POST /v1/completions", "key-of-alice",
              R"({"prompt":"The fox","max_tokens":480,"ignore_eos":true,"n":8,"stream":true})"));
  EXPECT_NE(stream.ReadUntil("data: "), "");
  for (const char* path : {"/livez", "/readyz", "/health", "/metrics", "/slots", "/version"})
    EXPECT_TRUE(Ask(server.admin_port(), Get(path)).starts_with("HTTP/1.1 200 ")) << path;
  // Of all keys. The eight are one until the prompt is computed, and seen as eight a step later.
  EXPECT_TRUE(
      Soon([&] { return Member(Ask(server.admin_port(), Get("/slots")), "running") == "8"; }));
  // Nothing that computes, and nothing of the model.
  for (const char* path : {"/v1/models", "/v1/models/tales", "/props", "/none"})
    EXPECT_TRUE(Ask(server.admin_port(), Get(path)).starts_with("HTTP/1.1 404 ")) << path;
  for (const char* path : {"/v1/completions", "/tokenize", "/v1/embeddings"}) {
    EXPECT_TRUE(
        Ask(server.admin_port(), Post(path, R"({"prompt":"A"})")).starts_with("HTTP/1.1 404 "))
        << path;
  }
  // A page in a browser on this machine gets in here no more than elsewhere.
  EXPECT_TRUE(Ask(server.admin_port(), "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")
                  .starts_with("HTTP/1.1 421 "));
  EXPECT_TRUE(Ask(server.admin_port(),
                  "GET /metrics HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil\r\n\r\n")
                  .starts_with("HTTP/1.1 403 "));
  // And the door that all use is not opened by it.
  EXPECT_TRUE(Ask(server.port(), Get("/metrics")).starts_with("HTTP/1.1 401 "));
}

TEST(Server, KeepsMonitorsInWhenConnectionsAreFull) {
  const Running server({}, {.admin_listen = "127.0.0.1:0", .max_connections = 2});
  std::vector<std::unique_ptr<TestClient>> busy;
  for (int i = 0; i < 2; ++i) {
    busy.push_back(std::make_unique<TestClient>(server.port()));
    busy.back()->Send(
        Post("/v1/completions",
             R"({"prompt":"The fox","max_tokens":480,"ignore_eos":true,"n":8,"stream":true})"));
    EXPECT_NE(busy.back()->ReadUntil("data: "), "");
  }
  TestClient kept(server.admin_port());
  kept.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(kept.ReadUntil("ok"), "");
  // One more than there are places, which makes room among its own.
  TestClient too_many(server.port());
  too_many.Send("GET /livez HTTP/1.1\r\n");
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(Ask(server.admin_port(), Get("/metrics")).starts_with("HTTP/1.1 200 "));
    kept.Send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_NE(kept.ReadUntil("ok"), "") << "is not closed for others of its kind";
  }
  // A crowd of monitors makes room for itself, among itself.
  std::vector<std::unique_ptr<TestClient>> crowd;
  for (int i = 0; i < 40; ++i) crowd.push_back(std::make_unique<TestClient>(server.admin_port()));
  EXPECT_TRUE(Ask(server.admin_port(), Get("/slots")).starts_with("HTTP/1.1 200 "));
  EXPECT_NE(busy.front()->ReadUntil("data: "), "");
}

std::string Answer(uint16_t port, std::string_view key, std::string_view body) {
  return Ask(port, WithKey("POST /v1/completions", key, body));
}

TEST(Server, RefusesWhatAKeyMayNotHaveAtATime) {
  const Running server({.max_running = 4},
                       {.api_keys = "key-of-alice name=alice running=2 waiting=2 tokens=900\n"
                                    "key-of-bob name=bob rpm=2\n"});
  // Never: too wide, too many, too long.
  const auto refusal = [&](std::string_view body) {
    const std::string answer = Answer(server.port(), "key-of-alice", body);
    EXPECT_EQ(HeaderOf(answer, "x-should-retry"), "false") << answer;
    return answer.substr(0, 13);
  };
  EXPECT_EQ(refusal(R"({"prompt":"A","max_tokens":1,"n":3})"), "HTTP/1.1 400 ");
  EXPECT_EQ(refusal(R"({"prompt":["A","A","A","A","A"],"max_tokens":1})"), "HTTP/1.1 400 ");
  EXPECT_EQ(refusal(R"({"prompt":"A","max_tokens":450,"n":2})"), "HTTP/1.1 400 ");
  // Not now: two run, two wait.
  TestClient busy(server.port());
  busy.Send(WithKey("POST /v1/completions", "key-of-alice",
                    R"({"prompt":["A","A","A","A"],"max_tokens":200,"ignore_eos":true,)"
                    R"("stream":true})"));
  EXPECT_NE(busy.ReadUntil("data: "), "");
  TestClient unread(server.port());
  unread.Send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n"
      "Content-Type: application/json\r\nAuthorization: Bearer key-of-alice\r\n\r\n");
  const std::string head = unread.ReadUntil("\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 429 ")) << head;
  EXPECT_EQ(HeaderOf(head, "retry-after"), "1");
  // Others are served: at a rate.
  constexpr std::string_view kShort = R"({"prompt":"A","max_tokens":1})";
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(Answer(server.port(), "key-of-bob", kShort).starts_with("HTTP/1.1 200 "));
  const std::string third = Answer(server.port(), "key-of-bob", kShort);
  EXPECT_TRUE(third.starts_with("HTTP/1.1 429 "));
  EXPECT_GT(std::stoi(HeaderOf(third, "retry-after")), 10);
  EXPECT_NE(third.find("2 requests a minute"), std::string::npos);
  // What has ended makes room.
  busy.Close();
  EXPECT_TRUE(Soon(
      [&] { return Answer(server.port(), "key-of-alice", kShort).starts_with("HTTP/1.1 200 "); }));
}

TEST(Server, ReadsItsKeysAgainOnSighupAndKeepsCacheAndRequests) {
  std::mutex mutex;
  std::string file = "key-of-alice name=alice\nkey-of-bob\n";
  std::vector<std::string> notices;
  const auto set_file = [&](std::string text) {
    const std::lock_guard lock(mutex);
    file = std::move(text);
  };
  // Waits for the notice that follows; the signal is the one that an administrator sends.
  const auto hang_up = [&] {
    size_t before = 0;
    {
      const std::lock_guard lock(mutex);
      before = notices.size();
    }
    std::raise(SIGHUP);
    EXPECT_TRUE(Soon([&] {
      const std::lock_guard lock(mutex);
      return notices.size() > before;
    }));
    const std::lock_guard lock(mutex);
    return notices.back();
  };
  const Running server({}, {.api_keys = file,
                            .read_api_keys = [&]() -> Result<std::string> {
                              const std::lock_guard lock(mutex);
                              return file;
                            },
                            .on_notice =
                                [&](const std::string& text) {
                                  const std::lock_guard lock(mutex);
                                  notices.push_back(text);
                                }});
  constexpr std::string_view kPrompt = R"({"prompt":"The fox and the lantern","max_tokens":1})";
  EXPECT_EQ(Member(Answer(server.port(), "key-of-alice", kPrompt), "cached_tokens"), "0");
  TestClient running(server.port());
  running.Send(WithKey("POST /v1/completions", "key-of-bob",
                       R"({"prompt":"A","max_tokens":300,"ignore_eos":true,"stream":true})"));
  EXPECT_NE(running.ReadUntil("data: "), "");

  set_file("new-key-of-alice name=alice\n");
  EXPECT_EQ(hang_up(), "the key file was read again: 1 keys");
  EXPECT_TRUE(Answer(server.port(), "key-of-alice", kPrompt).starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(Answer(server.port(), "key-of-bob", kPrompt).starts_with("HTTP/1.1 401 "));
  EXPECT_NE(Member(Answer(server.port(), "new-key-of-alice", kPrompt), "cached_tokens"), "0");
  EXPECT_NE(running.ReadAll().find("[DONE]"), std::string::npos) << "what runs goes on";

  for (const char* broken :
       {"new-key-of-alice name=alice\nanother-key share=x\n", "", "# none\n"}) {
    set_file(broken);
    EXPECT_TRUE(hang_up().starts_with("the keys stay as they are: ")) << broken;
    EXPECT_TRUE(Answer(server.port(), "new-key-of-alice", kPrompt).starts_with("HTTP/1.1 200 "));
  }
}

// Answers so far, by status, as an admin reads them.
std::string Answers(uint16_t port, int status) {
  const std::string metrics = Ask(port, WithKey("GET /metrics", "key-of-alice"));
  const std::string sample =
      "skald_http_answers_total{model_name=\"tales\",status=\"" + std::to_string(status) + "\"} ";
  const size_t at = metrics.find(sample);
  if (at == std::string::npos) return "0";
  const size_t begin = at + sample.size();
  return metrics.substr(begin, metrics.find('\n', begin) - begin);
}

TEST(Server, HoldsRefusalsOfWrongKeysAndNothingElse) {
  const Running server({}, {.api_keys = "key-of-alice admin\n"});
  const std::string wrong = WithKey("GET /v1/models", "key-of-mallory");
  // None brings no key: none of them counts.
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(Ask(server.port(), Get("/v1/models")).starts_with("HTTP/1.1 401 "));
  {
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < 20; ++i) {
      clients.push_back(std::make_unique<TestClient>(server.port()));
      clients.back()->Send(wrong);
    }
    for (const auto& client : clients)
      EXPECT_TRUE(client->ReadAll().starts_with("HTTP/1.1 401 ")) << "held, then answered";
  }
  // Twenty are a second. Which answer is written first would tell on a machine that is never busy.
  EXPECT_TRUE(Soon([&] {
    TestClient slowed(server.port());
    const auto begin = std::chrono::steady_clock::now();
    slowed.Send(wrong);
    const std::string right = Ask(server.port(), WithKey("GET /v1/models", "key-of-alice"));
    const auto served = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(right.starts_with("HTTP/1.1 200 ")) << right;
    EXPECT_TRUE(slowed.ReadAll().starts_with("HTTP/1.1 401 "));
    const auto refused = std::chrono::steady_clock::now() - begin;
    EXPECT_GT(refused, std::chrono::milliseconds(500));
    return served < refused / 2;
  }));
}

TEST(Server, HoldsABoundedNumberOfRefusals) {
  const Running server({}, {.api_keys = "key-of-alice admin\n"});
  const std::string wrong = WithKey("GET /v1/models", "key-of-mallory");
  // Closed are those that find no place; on a machine that takes seconds for a crowd all find one.
  constexpr int kCrowd = 300;
  int asked = 0;
  EXPECT_TRUE(Soon([&] {
    std::vector<std::unique_ptr<TestClient>> clients;
    for (int i = 0; i < kCrowd; ++i) {
      clients.push_back(std::make_unique<TestClient>(server.port()));
      clients.back()->Send(wrong);
    }
    asked += kCrowd;
    int closed = 0;
    for (const auto& client : clients) {
      const std::string answer = client->ReadAll();
      EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 401 ")) << answer;
      closed += answer.empty() ? 1 : 0;
    }
    EXPECT_LE(closed, kCrowd - RefusalDelays::kMostHeld);
    return closed > 0;
  }));
  EXPECT_EQ(Answers(server.port(), 401), std::to_string(asked)) << "each counts";
}

TEST(Server, HoldsNoRefusalOfWhoBringsNoKey) {
  const Running server({}, {.api_keys = "key-of-alice\n"});
  // If these were held, most would find no place and be closed without an answer.
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    clients.back()->Send(Get("/v1/models"));
  }
  for (const auto& client : clients) EXPECT_TRUE(client->ReadAll().starts_with("HTTP/1.1 401 "));
}

TEST(Server, ClosesAHeldRefusalWhereAPlaceIsNeeded) {
  const Running server({}, {.api_keys = "key-of-alice admin\n", .max_connections = 8});
  const std::string wrong = WithKey("GET /v1/models", "key-of-mallory");
  // On a machine that takes seconds for it, none is held any more when the last one comes.
  EXPECT_TRUE(Soon([&] {
    std::vector<std::unique_ptr<TestClient>> held;
    for (int i = 0; i < 8; ++i) {
      held.push_back(std::make_unique<TestClient>(server.port()));
      held.back()->Send(wrong);
    }
    // One whose request is not read yet would be closed, too.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const std::string right = Ask(server.port(), WithKey("GET /v1/models", "key-of-alice"));
    EXPECT_TRUE(right.starts_with("HTTP/1.1 200 ")) << right;
    int closed = 0;
    for (const auto& client : held) closed += client->ReadAll().empty() ? 1 : 0;
    return closed > 0;
  }));
}

TEST(Server, CountsAWrongKeyThatDoesNotAwaitItsRefusal) {
  const Running server({}, {.api_keys = "key-of-alice admin\n"});
  for (int i = 0; i < 30; ++i) {
    TestClient client(server.port());
    client.Send(WithKey("GET /v1/models", "key-of-mallory"));
    client.Close();
  }
  EXPECT_TRUE(Soon([&] { return Answers(server.port(), 401) == "30"; }))
      << Answers(server.port(), 401);
  EXPECT_EQ(Answers(server.port(), 499), "0");
}

TEST(Server, LowersAPriorityBeyondTheRightOfItsKey) {
  const Running server({}, {.api_keys = "key-of-alice priority=-5\nkey-of-bob\n"});
  const auto warnings = [&](std::string_view key, std::string_view priority) {
    const std::string answer =
        Answer(server.port(), key,
               R"({"prompt":"A","max_tokens":1,"priority":)" + std::string(priority) + "}");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    return HeaderOf(answer, "x-skald-warnings");
  };
  EXPECT_EQ(warnings("key-of-alice", "-5"), "");
  EXPECT_EQ(warnings("key-of-alice", "-6"), "priority-lowered");
  EXPECT_EQ(warnings("key-of-bob", "0"), "");
  EXPECT_EQ(warnings("key-of-bob", "-1"), "priority-lowered");
  EXPECT_EQ(warnings("key-of-bob", "1000000"), "");
}

TEST(Server, KeepsTheCachesOfTenantsApart) {
  const Running server({}, {.api_keys = "first-key\nsecond-key"});
  const auto cached = [&](const std::string& key, const std::string& salt) {
    std::string request = Post("/v1/completions", R"({"prompt":"The fox and the lantern",)"
                                                  R"("max_tokens":1,"cache_salt":")" +
                                                      salt + "\"}");
    request.insert(request.find("Host:"), "Authorization: Bearer " + key + "\r\n");
    return Member(Ask(server.port(), request), "cached_tokens");
  };
  EXPECT_EQ(cached("first-key", "a"), "0");
  EXPECT_NE(cached("first-key", "a"), "0");
  EXPECT_EQ(cached("second-key", "a"), "0");
  EXPECT_EQ(cached("first-key", "b"), "0");
}

TEST(Server, LogsWhatHappenedAndNothingOfThePrompt) {
  std::atomic<int> lines = 0;
  AccessRecord last;
  {
    const Running server(
        {}, {.api_keys = "key-of-alice name=alice", .on_access = [&](const AccessRecord& record) {
               last = record;
               ++lines;
             }});
    Answer(server.port(), "key-of-alice",
           R"({"prompt":"The fox","max_tokens":3,"ignore_eos":true})");
    ASSERT_TRUE(Soon([&] { return lines == 1; }));
  }
  EXPECT_EQ(last.client, "127.0.0.1");
  EXPECT_EQ(last.method, "POST");
  EXPECT_EQ(last.path, "/v1/completions");
  EXPECT_EQ(last.tenant, "alice");
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.prompt_tokens, 3);
  EXPECT_EQ(last.output_tokens, 3);
}

}  // namespace
}  // namespace skald::server
