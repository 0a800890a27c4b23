// The server over real sockets, with the bundled model.
#include "skald/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/test_client.h"
#include "server/test_server.h"

namespace skald::server {
namespace {

constexpr std::string_view kEndless =
    R"({"prompt":"The fox","max_tokens":300,"ignore_eos":true,"seed":1})";
constexpr std::string_view kEndlessStream =
    R"({"prompt":"The fox","max_tokens":300,"ignore_eos":true,"seed":1,"stream":true})";

// As long as the context allows, many times: for tests in which it must still run when they have
// been stopped for a while.
constexpr std::string_view kReallyEndless =
    R"({"prompt":"The fox","max_tokens":480,"ignore_eos":true,"seed":1,"n":16})";
constexpr std::string_view kReallyEndlessStream =
    R"({"prompt":"The fox","max_tokens":480,"ignore_eos":true,"seed":1,"n":16,"stream":true})";

TEST(Server, AnswersEveryRoute) {
  const Running server;
  for (const char* path : {"/livez", "/readyz", "/health", "/v1/models", "/v1/models/tales",
                           "/metrics", "/version", "/props", "/slots"}) {
    EXPECT_TRUE(Ask(server.port(), Get(path)).starts_with("HTTP/1.1 200 OK\r\n")) << path;
  }
  EXPECT_TRUE(Ask(server.port(), Get("/v1/models/other")).starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(Ask(server.port(), Get("/none")).starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(Ask(server.port(), Get("/v1/completions")).starts_with("HTTP/1.1 405 "));
}

TEST(Server, EmbedsAndSaysHow) {
  const Running server({}, {.pooling = Pooling::kMean});
  const std::string answer =
      Ask(server.port(),
          Post("/v1/embeddings", R"({"input":["The fox","A bear"],"encoding_format":"base64"})"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_EQ(Member(answer, "pooling"), "\"mean\"");
  EXPECT_EQ(Member(answer, "total_tokens"), Member(answer, "prompt_tokens"));
  // Both texts, each a vector of floats of four bytes in base64.
  const size_t width = std::stoul(Member(BodyOf(Ask(server.port(), Get("/props"))), "n_embd"));
  EXPECT_EQ(Texts(answer, "embedding").size(), 2 * ((4 * width + 2) / 3 * 4));
  const Running none({}, {.pooling = Pooling::kNone});
  EXPECT_TRUE(
      Ask(none.port(), Post("/v1/embeddings", R"({"input":"a"})")).starts_with("HTTP/1.1 400 "));
}

// A list far longer than the queue: what does not fit waits in the server.
TEST(Server, EmbedsALongListThroughAShortQueue) {
  const Running server({.max_running = 2, .max_queued = 3});
  std::string list = R"({"input":["a")";
  for (int i = 0; i < 300; ++i) list += R"(,"The fox )" + std::to_string(i) + "\"";
  const std::string answer = Ask(server.port(), Post("/v1/embeddings", list + "]}"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer.substr(0, 300);
  EXPECT_NE(answer.find("\"index\":300,"), std::string::npos);
}

TEST(Server, CompletesWithUsageAndTheSameTextForTheSameSeed) {
  const Running server;
  const std::string first = Complete(server.port(), R"({"prompt":"The fox","seed":7})");
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200 OK\r\n")) << first;
  EXPECT_EQ(Member(first, "prompt_tokens"), "3");
  EXPECT_EQ(Member(first, "cached_tokens"), "0");
  const std::string again = Complete(server.port(), R"({"prompt":"The fox","seed":7})");
  EXPECT_EQ(Texts(first, "text"), Texts(again, "text"));
  EXPECT_EQ(Member(again, "cached_tokens"), "2");  // all but the last, which must be computed
}

TEST(Server, WritesConversationsAsTheModelWantsThem) {
  const Running server;
  // What spells a control token is text in the words of a user: several tokens.
  const auto prompt_tokens = [&](const std::string& content) {
    const std::string answer = Ask(
        server.port(), Post("/v1/chat/completions", R"({"messages":[{"role":"user","content":")" +
                                                        content + R"("}],"max_tokens":1})"));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    return Member(answer, "prompt_tokens");
  };
  EXPECT_GT(std::stoi(prompt_tokens("<|user|>")), std::stoi(prompt_tokens("Hi")));
  const std::string answer =
      Ask(server.port(),
          Post("/v1/chat/completions",
               R"({"messages":[{"role":"user","content":"Tell me a story"}],"seed":1})"));
  EXPECT_EQ(Member(answer, "role"), "\"assistant\"");
  EXPECT_EQ(Member(answer, "finish_reason"), "\"stop\"");
}

TEST(Server, SaysWhichSeedItDrewAndFromWhichModel) {
  const Running server;
  for (const std::string_view seed : {"", ",\"seed\":-1"}) {
    const std::string fields =
        R"("prompt":"The","max_tokens":12,"ignore_eos":true)" + std::string(seed);
    const std::string drawn = Complete(server.port(), "{" + fields + "}");
    const std::string number = Member(drawn, "seed");
    EXPECT_GE(std::stoll(number), 0) << drawn;
    const std::string again =
        Complete(server.port(),
                 R"({"prompt":"The","max_tokens":12,"ignore_eos":true,"seed":)" + number + "}");
    EXPECT_EQ(Texts(again, "text"), Texts(drawn, "text"));
    EXPECT_NE(Member(Complete(server.port(), "{" + fields + "}"), "seed"), number);
    const std::string stream = Complete(server.port(), "{" + fields + ",\"stream\":true}");
    EXPECT_NE(Member(stream, "seed"), "") << stream;
    const std::string fingerprint = Member(stream, "system_fingerprint");
    EXPECT_TRUE(fingerprint.starts_with("\"fp_") && fingerprint.ends_with("_test\""))
        << fingerprint;
    EXPECT_EQ(fingerprint, Member(drawn, "system_fingerprint"));
    EXPECT_EQ(fingerprint, Member(BodyOf(Ask(server.port(), Get("/props"))), "system_fingerprint"));
  }
  EXPECT_EQ(Member(Complete(server.port(), R"({"prompt":"A","max_tokens":1,"seed":-7})"), "seed"),
            "-7");
}

TEST(Server, DrawsOtherNumbersForEachPromptOfARequest) {
  const Running server;
  const auto texts = [&](std::string_view prompts) {
    const std::string answer = Complete(server.port(), R"({"max_tokens":24,"ignore_eos":true,)"
                                                       R"("seed":5,"prompt":)" +
                                                           std::string(prompts) + "}");
    std::vector<std::string> list;
    for (size_t at = answer.find("\"text\":\""); at != std::string::npos;
         at = answer.find("\"text\":\"", at + 1))
      list.push_back(Texts(answer.substr(at, answer.find("\"logprobs\"", at) - at), "text"));
    return list;
  };
  const std::vector<std::string> four =
      texts(R"(["Once upon","Once upon","Once upon","Once upon"])");
  EXPECT_EQ(std::set<std::string>(four.begin(), four.end()).size(), 4u);
  // The first is what it would be alone, and all are the same again.
  EXPECT_EQ(four[0], texts(R"("Once upon")")[0]);
  EXPECT_EQ(four, texts(R"(["Once upon","Once upon","Once upon","Once upon"])"));
}

// Of the texts that n = 6 gives those with the highest mean log probability, the best first.
TEST(Server, GivesTheLikeliestOfTheTextsItDraws) {
  const Running server;
  const auto ask = [&](const std::string& fields) {
    return Complete(server.port(),
                    R"({"prompt":"Once upon","seed":5,"max_tokens":16,"ignore_eos":true,)" +
                        fields + R"("temperature":1.5})");
  };
  const std::string drawn = ask(R"("n":6,"logprobs":0,)");
  std::vector<std::pair<double, std::string>> ranked;
  for (size_t at = drawn.find("{\"index\":"); at != std::string::npos;) {
    const size_t next = drawn.find("{\"index\":", at + 1);
    const std::string choice = drawn.substr(at, next - at);
    size_t number = choice.find("\"token_logprobs\":[") + 18;
    double sum = 0;
    for (int i = 0; i < 16; ++i, number = choice.find(',', number) + 1)
      sum += std::stod(choice.substr(number, 24));
    ranked.emplace_back(sum / 16, Texts(choice, "text"));
    at = next;
  }
  ASSERT_EQ(ranked.size(), 6u) << drawn;
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const std::string best = ask(R"("n":2,"best_of":6,)");
  EXPECT_EQ(Texts(best, "text"), ranked[0].second + ranked[1].second);
  // All that was computed is paid for.
  EXPECT_EQ(Member(best, "completion_tokens"), "96");
}

TEST(Server, NamesTheTokenThatCameInTheLogprobsOfACompletion) {
  const Running server;
  const std::string answer =
      Complete(server.port(),
               R"({"prompt":"The","max_tokens":20,"ignore_eos":true,"logprobs":0,"temperature":3,)"
               R"("seed":1})");
  EXPECT_EQ(answer.find("{}"), std::string::npos) << answer;
}

// The template of the bundled model has words for users and assistants only.
TEST(Server, WarnsOfASystemMessageThatTheTemplateDrops) {
  std::string logged;
  std::atomic<int> lines = 0;
  {
    const Running server({}, {.on_access = [&](const AccessRecord& record) {
                           if (lines == 0) logged = record.warnings;
                           ++lines;
                         }});
    const auto warnings = [&](std::string_view messages) {
      const std::string answer =
          Ask(server.port(), Post("/v1/chat/completions",
                                  "{\"max_tokens\":1,\"messages\":" + std::string(messages) + "}"));
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
      return HeaderOf(answer, "x-skald-warnings");
    };
    const std::string user = R"({"role":"user","content":"Tell me a story"})";
    EXPECT_EQ(warnings(R"([{"role":"system","content":"Be brief."},)" + user + "]"),
              "system-message-dropped");
    EXPECT_EQ(warnings("[" + user + R"(,{"role":"developer","content":" Rhyme! "}])"),
              "system-message-dropped");
    EXPECT_EQ(warnings("[" + user + "]"), "");
    EXPECT_EQ(warnings(R"([{"role":"system","content":" \n"},)" + user + "]"), "");
    // Found in the words of a user: nothing is lost.
    EXPECT_EQ(warnings(R"([{"role":"system","content":" story "},)" + user + "]"), "");
    ASSERT_TRUE(Soon([&] { return lines == 5; }));
  }
  EXPECT_EQ(logged, "system-message-dropped");
}

TEST(Server, WarnsOfAContextBeyondTheModels) {
  const int64_t own = Tales().info().context_length;
  const Running server({.context = own + 64});
  const auto warnings = [&](int64_t max_tokens) {
    const std::string answer =
        Complete(server.port(),
                 R"({"prompt":"A","stop":[" "],"max_tokens":)" + std::to_string(max_tokens) + "}");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    return HeaderOf(answer, "x-skald-warnings");
  };
  const int64_t prompt = static_cast<int64_t>(Tales().tokenizer().Encode("A")->size());
  EXPECT_EQ(warnings(own - prompt), "");
  EXPECT_EQ(warnings(own - prompt + 1), "context-beyond-model");
}

TEST(Server, SaysWhichModelThereIsOrTakesEveryName) {
  {
    const Running server;
    const std::string answer = Complete(server.port(), R"({"prompt":"A","model":"gpt-x"})");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 404 "));
    EXPECT_EQ(Texts(answer, "message"), "there is no model 'gpt-x'; this server has 'tales'");
  }
  const Running server({}, {.model_names = ModelNames::kAny});
  const std::string answer =
      Complete(server.port(), R"({"prompt":"A","model":"gpt-x","max_tokens":1})");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  EXPECT_EQ(Member(answer, "model"), "\"tales\"") << "what it really is";
  EXPECT_TRUE(Ask(server.port(), Get("/v1/models/gpt-x")).starts_with("HTTP/1.1 200 "));
}

TEST(Server, GivesTemplateVariablesToTheTemplateAndKeepsItsOwn) {
  const Running server;
  const auto answer = [&](std::string_view kwargs) {
    return Ask(server.port(), Post("/v1/chat/completions",
                                   R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":1,)"
                                   R"("chat_template_kwargs":)" +
                                       std::string(kwargs) + "}"));
  };
  EXPECT_TRUE(answer(R"({"thinking_budget":7})").starts_with("HTTP/1.1 200 "));
  for (const std::string_view name : {"messages", "bos_token", "add_generation_prompt"}) {
    const std::string refused = answer("{\"" + std::string(name) + "\":\"x\"}");
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 400 ")) << refused;
    EXPECT_EQ(Member(refused, "param"), "\"chat_template_kwargs\"");
    EXPECT_NE(refused.find(name), std::string::npos);
  }
}

TEST(Server, StreamsWhatItAnswersWhole) {
  const Running server;
  for (const std::string_view fields :
       {R"("prompt":"The fox","seed":3,"max_tokens":40,"ignore_eos":true)",
        R"("prompt":"The fox","seed":3,"max_tokens":40,"n":3)",
        R"("prompt":"The fox","seed":4,"max_tokens":60,"ignore_eos":true,"stop":[" the","."])",
        R"("prompt":["One day","A bird"],"seed":5,"max_tokens":20,"echo":true)"}) {
    const std::string whole = Complete(server.port(), "{" + std::string(fields) + "}");
    const std::string stream =
        BodyOf(Complete(server.port(), "{" + std::string(fields) + ",\"stream\":true}"));
    for (int index = 0; index < 3; ++index) {
      const std::string choice = "\"index\":" + std::to_string(index) + ",";
      std::string streamed;
      for (size_t at = stream.find(choice); at != std::string::npos;
           at = stream.find(choice, at + 1))
        streamed += Texts(stream.substr(at, stream.find('\n', at) - at), "text");
      const size_t at = whole.find(choice);
      const size_t end = whole.find("\"index\":" + std::to_string(index + 1), at);
      if (at != std::string::npos) {
        EXPECT_EQ(streamed, Texts(whole.substr(at, end - at), "text")) << fields << index;
      } else {
        EXPECT_EQ(streamed, "");
      }
    }
    EXPECT_TRUE(stream.ends_with("data: [DONE]\n\n"));
  }
}

TEST(Server, GivesTheAnswersOfOneByOneToManyAtOnce) {
  constexpr int kRequests = 48;
  const auto request = [](int i) {
    return R"({"prompt":"The fox and the lantern went )" + std::to_string(i % 7) +
           R"(","max_tokens":30,"ignore_eos":true,"stream":true,"seed":)" + std::to_string(i) + "}";
  };
  std::vector<std::string> alone;
  {
    const Running server;
    for (int i = 0; i < kRequests; ++i)
      alone.push_back(Texts(Complete(server.port(), request(i)), "text"));
  }
  // Fewer pages than they need together: some wait, some are preempted.
  const Running server({.kv_positions = 1024, .max_running = 16});
  std::vector<std::string> together(kRequests);
  {
    std::vector<std::thread> clients;
    for (int i = 0; i < kRequests; ++i) {
      clients.emplace_back([&, i] {
        together[static_cast<size_t>(i)] = Texts(Complete(server.port(), request(i)), "text");
      });
    }
    for (std::thread& client : clients) client.join();
  }
  EXPECT_EQ(together, alone);
  EXPECT_TRUE(Soon([&] { return Metric(server.port(), "skald_pages_held") == 0; }));
}

// One place: two requests at once, of which one waits for the other.
TEST(Server, TellsTimesThatAddUp) {
  const Running server({.max_running = 1});
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    clients.back()->Send(Post("/v1/completions", kEndless));
  }
  for (const auto& client : clients) client->ReadAll();
  const auto metric = [&](const std::string& name) { return Metric(server.port(), name); };
  EXPECT_TRUE(Soon([&] { return metric("skald_request_seconds_count") == 2; }));
  const double queue = metric("skald_queue_seconds_sum");
  const double inference = metric("skald_inference_seconds_sum");
  EXPECT_EQ(metric("skald_queue_seconds_count"), 2);
  EXPECT_GT(queue, 0);
  EXPECT_NEAR(queue + inference, metric("skald_request_seconds_sum"), 1e-3);
  EXPECT_NEAR(metric("skald_prefill_seconds_sum") + metric("skald_decode_seconds_sum"), inference,
              1e-3);
  EXPECT_NEAR(queue + metric("skald_prefill_seconds_sum"),
              metric("skald_time_to_first_token_seconds_sum"), 1e-3);
}

TEST(Server, CancelsWhenTheClientGoes) {
  // One request at a time: the second is queued when its client goes.
  const Running server({.max_running = 16});
  int submitted = 0;
  for (const std::string_view body : {kReallyEndlessStream, kReallyEndless}) {
    TestClient running(server.port());
    running.Send(Post("/v1/completions", body));
    TestClient queued(server.port());
    queued.Send(Post("/v1/completions", body));
    submitted += 2;
    // Who goes sooner is not submitted at all.
    EXPECT_TRUE(
        Soon([&] { return Metric(server.port(), "skald_requests_submitted_total") == submitted; }));
    queued.Close();
    running.Close();
  }
  EXPECT_TRUE(Soon([&] {
    return Metric(server.port(), "skald_requests_finished_total", ",reason=\"cancelled\"") == 4;
  }));
  EXPECT_EQ(Metric(server.port(), "skald_pages_held"), 0);
  EXPECT_EQ(Metric(server.port(), "skald_sequences_waiting"), 0);
}

TEST(Server, AnswersAClientThatHasOnlyEndedItsSide) {
  const Running server;
  for (const std::string_view body : {kEndlessStream, kEndless}) {
    TestClient client(server.port());
    client.Send(Post("/v1/completions", body));
    client.EndSending();
    const std::string answer = client.ReadAll();
    EXPECT_NE(answer.find("\"finish_reason\":\"length\""), std::string::npos) << answer;
  }
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  const Running server;
  TestClient client(server.port());
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    const std::string body =
        R"({"prompt":"A","max_tokens":2,"model":")" + std::to_string(i) + "\"}";
    std::string request = i % 2 == 0 ? Post("/v1/completions", body) : Get("/version");
    request.erase(request.find("Connection: close\r\n"), 19);
    requests += request;
  }
  client.Send(requests + Get("/livez"));
  const std::string answers = client.ReadAll();
  size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = answers.find(i % 2 == 0 ? "HTTP/1.1 404" : "HTTP/1.1 200", at);
    ASSERT_NE(at, std::string::npos) << i;
    ++at;
  }
  EXPECT_TRUE(answers.ends_with("{\"status\":\"ok\"}"));
}

TEST(Server, SaysThatTheEngineStandsStill) {
  Engine engine = MakeEngine();
  const auto wedge = std::make_shared<Wedge>();
  ASSERT_TRUE(engine.Submit({.prompt = {1, 2, 3}}, wedge).ok());
  std::atomic<bool> dead = false;
  const Running server(std::move(engine),
                       {.dead_seconds = 3, .on_dead = [&](const std::string&) { dead = true; }});
  EXPECT_TRUE(Ask(server.port(), Get("/readyz")).starts_with("HTTP/1.1 200 "));
  TestClient waiting(server.port());
  waiting.Send(Post("/v1/completions", R"({"prompt":"The fox","max_tokens":3})"));
  for (const char* path : {"/readyz", "/livez"}) {
    EXPECT_TRUE(Soon([&] { return Ask(server.port(), Get(path)).starts_with("HTTP/1.1 503 "); }));
  }
  EXPECT_TRUE(Soon([&] { return dead.load(); }));
  wedge->LetGo();
  EXPECT_TRUE(waiting.ReadUntil("\r\n").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(
      Soon([&] { return Ask(server.port(), Get("/readyz")).starts_with("HTTP/1.1 200 "); }));
}

TEST(Server, RefusesBeforeItReadsTheBody) {
  const Running server({}, {.api_keys = "secret-key"});
  TestClient no_key(server.port());
  no_key.Send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n");
  EXPECT_TRUE(no_key.ReadUntil("\r\n").starts_with("HTTP/1.1 401 "));
  TestClient too_long(server.port());
  too_long.Send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\nx");
  EXPECT_TRUE(too_long.ReadUntil("\r\n").starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(Ask(server.port(), Get("/metrics")).starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(Ask(server.port(), Get("/livez")).starts_with("HTTP/1.1 200 "));
}

TEST(Server, ContinuesWhereTheClientWaitsForIt) {
  const Running server;
  TestClient client(server.port());
  const std::string body = R"({"content":"a"})";
  std::string request = Post("/tokenize", body);
  request.resize(request.size() - body.size());
  request.insert(request.size() - 2, "Expect: 100-continue\r\n");
  client.Send(request);
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send(body);
  EXPECT_TRUE(client.ReadAll().starts_with("HTTP/1.1 200 "));
}

TEST(Server, ReadsLongBodiesOnTheWorker) {
  const Running server;
  const std::string text(100'000, 'a');
  const std::string tokens =
      Ask(server.port(), Post("/tokenize", "{\"content\":\"" + text + "\"}"));
  EXPECT_TRUE(tokens.starts_with("HTTP/1.1 200 "));
  const std::string refused = Complete(server.port(), "{\"prompt\":\"" + text + "\"}");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 400 "));
  EXPECT_EQ(Member(refused, "code"), "\"context_length_exceeded\"");
}

TEST(Server, RefusesWhenTheQueueIsFull) {
  const Running server({.max_running = 16, .max_queued = 1});
  std::vector<std::unique_ptr<TestClient>> clients;
  std::string answer;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    clients.back()->Send(Post("/v1/completions", kReallyEndless));
  }
  int full = 0;
  for (const auto& client : clients) {
    answer = client->ReadAll();
    if (answer.find("HTTP/1.1 503 ") == std::string::npos) continue;
    ++full;
    EXPECT_NE(answer.find("retry-after: 1\r\n"), std::string::npos);
    EXPECT_EQ(Member(answer, "code"), "\"overloaded\"");
  }
  EXPECT_GT(full, 0);
}

// 16 choices with all the log probabilities there are: some megabytes.
constexpr std::string_view kLargeStream =
    R"({"prompt":"The fox","max_tokens":300,"ignore_eos":true,"seed":1,"stream":true,"n":16,)"
    R"("logprobs":20})";

TEST(Server, PausesForAClientThatReadsSlowly) {
  const Running server;
  TestClient client(server.port());
  client.Send(Post("/v1/completions", kLargeStream));
  double steps = -1;
  // The engine comes to rest although much is left to compute.
  EXPECT_TRUE(Soon([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return std::exchange(steps, Metric(server.port(), "skald_steps_total")) == steps && steps > 1;
  }));
  EXPECT_LT(Metric(server.port(), "skald_output_tokens_total"), 16 * 300);
  const std::string answer = client.ReadAll();
  EXPECT_NE(answer.find("data: [DONE]"), std::string::npos);
  EXPECT_TRUE(Soon([&] { return Metric(server.port(), "skald_output_tokens_total") == 16 * 300; }));
}

TEST(Server, CutsOffAClientThatHasStoppedReading) {
  const Running server({}, {.stall_seconds = 0.5});
  TestClient client(server.port());
  client.Send(Post("/v1/completions", kLargeStream));
  EXPECT_TRUE(Soon([&] {
    return Metric(server.port(), "skald_requests_finished_total", ",reason=\"cancelled\"") == 1;
  }));
  EXPECT_TRUE(Soon([&] { return Metric(server.port(), "skald_pages_held") == 0; }));
}

// A head, and a part of the body that it announces.
std::string HalfOf(size_t body, size_t sent) {
  return "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(body) + "\r\n\r\n" + std::string(sent, ' ');
}

// All come from one address: one client, who gets half of what there is.
TEST(Server, HoldsNoMoreBytesOfOneClientThanItsShare) {
  const Running server({}, {.max_buffered_bytes = 5 << 20});
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.port()));
    clients.back()->Send(HalfOf(1 << 20, 600 << 10));
  }
  // At most four fit into half of it; none is old enough to be called slow. Who ends before all
  // have been read would make room for another.
  EXPECT_TRUE(Soon(
      [&] { return Metric(server.port(), "skald_http_answers_total", ",status=\"503\"") >= 4; }));
  int refused = 0;
  for (const auto& client : clients) {
    client->EndSending();
    const std::string answer = client->ReadAll();
    if (answer.starts_with("HTTP/1.1 503 ")) ++refused;
  }
  EXPECT_GE(refused, 4);
  EXPECT_LT(refused, 8);
  EXPECT_TRUE(
      Ask(server.port(), Post("/tokenize", R"({"content":"a"})")).starts_with("HTTP/1.1 200 "));
}

TEST(Server, EndsASlowBodyOfAClientThatNeedsItsRoom) {
  const Running server({}, {.max_buffered_bytes = 3 << 20});
  TestClient slow(server.port());
  slow.Send(HalfOf(1 << 20, 900 << 10));
  std::this_thread::sleep_for(std::chrono::milliseconds(5500));  // then it is old enough
  const std::string body = std::string(600 << 10, ' ') + R"({"content":"a"})";
  EXPECT_TRUE(Ask(server.port(), Post("/tokenize", body)).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(slow.ReadAll().starts_with("HTTP/1.1 503 "));
}

TEST(Server, RefusesAnswersThatAreTooLargeBeforeItComputes) {
  const Running server({}, {.max_answer_bytes = 100'000});
  const std::string prompt(400, 'a');
  std::string prompts = "\"" + prompt + "\"";
  for (int i = 1; i < 64; ++i) prompts += ",\"" + prompt + "\"";
  const std::string echo = R"({"prompt":[)" + prompts + R"(],"n":16,"max_tokens":1,"echo":true)";
  const std::string refused = Complete(server.port(), echo + "}");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 400 ")) << refused.substr(0, 300);
  EXPECT_EQ(Member(refused, "code"), "\"answer_too_large\"");
  EXPECT_NE(refused.find("at most 100000"), std::string::npos) << refused;
  EXPECT_EQ(Metric(server.port(), "skald_requests_submitted_total"), 0);
  for (const auto& [path, body] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/completions", R"({"prompt":"a","max_tokens":50,"n":8,"logprobs":20})"},
           {"/v1/completions", R"({"prompt":")" + prompt +
                                   R"(","max_tokens":1,"n":8,)"
                                   R"("prompt_logprobs":9})"},
           {"/v1/completions", R"({"prompt":")" + prompt +
                                   R"(","max_tokens":0,"n":8,)"
                                   R"("echo":true,"logprobs":9})"},
           {"/v1/embeddings", R"({"input":[)" + prompts + "]}"},
           {"/tokenize", "{\"with_pieces\":true,\"content\":\"" + std::string(9000, '#') + "\"}"},
           {"/detokenize", "{\"tokens\":[400" + [] {
              std::string more;
              for (int i = 0; i < 40'000; ++i) more += ",400";
              return more;
            }() + "]}"}}) {
    const std::string answer = Ask(server.port(), Post(path, body));
    EXPECT_EQ(Member(answer, "code"), "\"answer_too_large\"") << path << answer.substr(0, 300);
  }
  // A stream has no end that anybody holds.
  EXPECT_NE(Complete(server.port(), echo + R"(,"stream":true})").find("[DONE]"), std::string::npos);
}

// Long answers are written on the pool, in pieces: the same bytes.
TEST(Server, WritesLongAnswersAsShortOnes) {
  const Running server;
  const std::string prompt(400, 'a');
  std::string prompts = "\"" + prompt + "\"";
  for (int i = 1; i < 64; ++i) prompts += ",\"" + prompt + "\"";
  const auto fields = [](const std::string& list) {
    return R"({"prompt":)" + list +
           R"(,"n":16,"max_tokens":1,"echo":true,"temperature":0,"ignore_eos":true})";
  };
  const std::string one = Texts(Complete(server.port(), fields("\"" + prompt + "\"")), "text");
  const std::string many = Complete(server.port(), fields("[" + prompts + "]"));
  ASSERT_TRUE(many.starts_with("HTTP/1.1 200 ")) << many.substr(0, 500);
  EXPECT_EQ(BodyOf(many).size(), std::stoul(many.substr(many.find("content-length: ") + 16)));
  std::string expected;
  for (int i = 0; i < 64; ++i) expected += one;
  EXPECT_TRUE(Texts(many, "text") == expected);
}

TEST(Server, ClosesConnectionsThatBringNothing) {
  const Running server({}, {.head_seconds = 0.2, .body_seconds = 0.2, .idle_seconds = 0.2});
  TestClient idle(server.port());
  TestClient slow_head(server.port());
  slow_head.Send("GET / HT");
  TestClient slow_body(server.port());
  slow_body.Send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 9\r\n\r\n{");
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_TRUE(slow_head.ReadAll().starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(slow_body.ReadAll().starts_with("HTTP/1.1 408 "));
}

TEST(Server, ClosesWhoHasSentNothingBeforeWhoIsSlow) {
  const Running server({}, {.max_connections = 3});
  TestClient slow(server.port());
  slow.Send(HalfOf(1000, 10));
  TestClient silent(server.port());
  TestClient second(server.port());
  // Those who come stay, else the places that they leave would do.
  std::vector<std::unique_ptr<TestClient>> asking;
  for (int i = 0; i < 2; ++i) {
    asking.push_back(std::make_unique<TestClient>(server.port()));
    asking.back()->Send("GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    EXPECT_TRUE(asking.back()->ReadUntil("}").starts_with("HTTP/1.1 200 ")) << i;
  }
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_EQ(second.ReadAll(), "");
  slow.Send(std::string(989, ' ') + "1");
  EXPECT_TRUE(slow.ReadUntil("\r\n").starts_with("HTTP/1.1 400 "));
}

TEST(Server, ClosesWhoHasWaitedLongestWhenThereAreTooManyConnections) {
  const Running server({}, {.max_connections = 2});
  TestClient silent(server.port());
  TestClient slow(server.port());
  slow.Send("GET /livez HT");
  TestClient busy(server.port());
  busy.Send(Post("/v1/completions", kReallyEndlessStream));
  EXPECT_NE(busy.ReadUntil("data: "), "");
  TestClient third(server.port());
  third.Send(Get("/livez"));
  EXPECT_TRUE(third.ReadAll().starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_EQ(slow.ReadAll(), "");
  EXPECT_NE(busy.ReadUntil("data: "), "");
}

TEST(Server, TakesOneConnectionTooManyWhenAllAreAnswered) {
  const Running server({}, {.max_connections = 1});
  TestClient busy(server.port());
  busy.Send(Post("/v1/completions", kReallyEndlessStream));
  EXPECT_NE(busy.ReadUntil("data: "), "");
  EXPECT_TRUE(Ask(server.port(), Get("/livez")).starts_with("HTTP/1.1 200 "));
  EXPECT_NE(busy.ReadAll().find("[DONE]"), std::string::npos);
}

TEST(Server, LetsStreamsEndWhenItStops) {
  Running server;
  TestClient client(server.port());
  client.Send(Post("/v1/completions", kEndlessStream));
  std::string answer = client.ReadUntil("data: ");
  server.Stop();
  answer += client.ReadAll();
  EXPECT_NE(answer.find("data: [DONE]"), std::string::npos);
  const uint16_t port = server.port();
  server.Join();
  EXPECT_FALSE(TestClient(port).connected());
}

TEST(Server, CutsOffWithAnErrorWhatDoesNotEnd) {
  Running server({}, {.drain_seconds = 0});
  TestClient client(server.port());
  client.Send(Post("/v1/completions", kEndlessStream));
  std::string answer = client.ReadUntil("data: ");
  server.Stop();
  answer += client.ReadAll();
  EXPECT_TRUE(answer.find("shutting_down") != std::string::npos ||
              answer.find("[DONE]") != std::string::npos);
  server.Join();
}

TEST(ServerCreate, RefusesOtherMachinesWithoutKeys) {
  const auto create = [](ServerOptions options) {
    options.secret = "0123456789abcdef";
    options.unix_seconds = [] { return int64_t{0}; };
    options.port = 0;
    return Server::Create(Tales(), *Engine::Create(Tales(), {}), std::move(options)).status();
  };
  EXPECT_EQ(create({.host = "0.0.0.0"}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(create({.host = "not an address"}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(create({.host = "127.0.0.1", .api_keys = "short"}).code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(create({.host = "0.0.0.0", .api_keys = "long-enough-key"}).ok());
  EXPECT_TRUE(create({.host = "127.0.0.1"}).ok());
}

TEST(ServerCreate, LetsMonitorsInOnThisMachineOnly) {
  const auto create = [](std::string address) {
    return Server::Create(Tales(), *Engine::Create(Tales(), {}),
                          {.port = 0,
                           .admin_listen = std::move(address),
                           .secret = "0123456789abcdef",
                           .unix_seconds = [] { return int64_t{0}; }});
  };
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[2001:db8::1]:0", "127.0.0.1",
                              "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:80x",
                              ":80", "::1:80", "[127.0.0.1]:80", "localhost:80", "80"}) {
    EXPECT_EQ(create(address).status().code(), ErrorCode::kInvalidArgument) << address;
  }
  EXPECT_EQ(create("")->admin_port(), 0);
  const Result<Server> server = create("127.0.0.1:0");
  ASSERT_TRUE(server.ok());
  const std::string taken = "127.0.0.1:" + std::to_string(server->admin_port());
  EXPECT_EQ(create(taken).status().code(), ErrorCode::kIo);
  EXPECT_NE(create(taken).status().message().find(taken), std::string::npos);
}

}  // namespace
}  // namespace skald::server
