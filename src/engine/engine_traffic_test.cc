// Many requests at once through the public engine: threads, events, cancels. That the answers are
// right under any schedule is shown by tests/sim and tests/promises.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "skald/engine.h"
#include "skald/model.h"
#include "skald/transcript.h"

namespace skald {
namespace {

class EngineTrafficTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<Model> model =
        LoadModel({.path = std::string(SKALD_SOURCE_DIR) + "/models/tales/tales.gguf"});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = std::make_unique<Model>(*std::move(model));
  }
  static void TearDownTestSuite() { model_.reset(); }

  static Engine Make(EngineOptions options = {}) {
    options.threads = 2;
    Result<Engine> engine = Engine::Create(*model_, options);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return *std::move(engine);
  }
  static Request Ask(std::string_view text, int64_t max_tokens, uint64_t seed = 0) {
    Request request{.prompt = *model_->tokenizer().Encode(text)};
    request.sampling.seed = seed;
    request.stop = {.max_tokens = max_tokens, .ignore_eos = true};
    return request;
  }
  static Completion Generate(Engine& engine, const Request& request) {
    Result<Completion> done = engine.Generate(request, [](const TokenEvent&) { return true; });
    EXPECT_TRUE(done.ok()) << done.status().message();
    return *std::move(done);
  }

  static std::unique_ptr<Model> model_;
};
std::unique_ptr<Model> EngineTrafficTest::model_;

// Reads a request to its end.
std::vector<Event> ReadAll(EventQueue& queue) {
  std::vector<Event> events;
  do {
    events.push_back(queue.Next());
  } while (!events.back().Is<FinishedEvent>());
  return events;
}

Transcript ReadTranscript(EventQueue& queue, const Request& request = {}) {
  Transcript answer(request);
  while (!answer.end) answer.Add(queue.Next());
  return answer;
}

std::string_view EndOf(EventQueue& queue) {
  return FinishReasonName(ReadAll(queue).back().As<FinishedEvent>()->reason);
}

// Statistics are those of the last step: waits for the step in which the last of `requests` ended.
EngineStats StatsAfter(const Engine& engine, int64_t requests) {
  for (;;) {
    const EngineStats stats = engine.Stats();
    if (std::accumulate(stats.finished.begin(), stats.finished.end(), int64_t{0}) == requests) {
      return stats;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(EngineTrafficTest, ClientsOnManyThreadsGetTheAnswersOfRequestsAlone) {
  Engine alone = Make({.context = 128, .max_running = 1});
  Engine busy = Make({.context = 128, .max_chunk = 16, .kv_positions = 300, .max_running = 6});
  constexpr uint64_t kClients = 8;
  std::vector<std::vector<TokenId>> found(kClients);
  std::vector<std::thread> clients;
  for (uint64_t i = 0; i < kClients; ++i) {
    clients.emplace_back([&busy, &found, i] {
      const auto queue = std::make_shared<EventQueue>();
      const auto id = busy.Submit(Ask("Once upon a time there was a fox", 40, i), queue);
      ASSERT_TRUE(id.ok()) << id.status().message();
      found[i] = ReadTranscript(*queue).best().tokens;
    });
  }
  for (std::thread& client : clients) client.join();
  for (uint64_t i = 0; i < kClients; ++i) {
    const Completion expected = Generate(alone, Ask("Once upon a time there was a fox", 40, i));
    EXPECT_EQ(found[i], expected.tokens) << i;
  }
}

TEST_F(EngineTrafficTest, EventsTellTheStoryOfARequest) {
  Engine engine = Make({.max_chunk = 4});
  const auto queue = std::make_shared<EventQueue>();
  const Request request = Ask("Once upon a time there was a fox", 3);
  const auto length = static_cast<int64_t>(request.prompt.size());
  ASSERT_GT(length, 4);
  ASSERT_TRUE(engine.Submit(request, queue).ok());
  std::string story;
  double last_seconds = 0;
  for (const Event& event : ReadAll(*queue)) {
    EXPECT_GE(event.seconds, last_seconds);
    last_seconds = event.seconds;
    if (const auto* chunk = event.As<ChunkEvent>()) {
      EXPECT_LT(chunk->done, length);
      EXPECT_EQ(chunk->total, length);
      continue;
    }
    story += std::string(EventName(event)) + "; ";
  }
  EXPECT_EQ(story, "queued; admitted; token; token; token; sequence finished; finished; ");
}

TEST_F(EngineTrafficTest, ASecondRequestFindsThePromptOfTheFirst) {
  Engine engine = Make();
  const Request request = Ask("Once upon a time there was a fox", 3);
  EXPECT_EQ(Generate(engine, request).cached_tokens, 0);
  const auto length = static_cast<int64_t>(request.prompt.size());
  EXPECT_EQ(Generate(engine, request).cached_tokens, length - 1);
  Request other = request;
  other.cache_namespace = 1;
  EXPECT_EQ(Generate(engine, other).cached_tokens, 0);
  const EngineStats stats = StatsAfter(engine, 3);
  EXPECT_EQ(stats.submitted, 3);
  EXPECT_EQ(stats.prompt_tokens, 3 * length);
  EXPECT_EQ(stats.prompt_tokens_cached, length - 1);
  EXPECT_EQ(stats.output_tokens, 9);
}

// The embedding of a text with the given pooling.
Request Pooled(Request request, Pooling pooling) {
  request.pooling = pooling;
  return request;
}

TEST_F(EngineTrafficTest, AnEmbeddingDependsOnThePromptAlone) {
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
    Engine plain = Make();
    const Request request = Pooled(Ask("Once upon a time there was a fox", 9), pooling);
    const auto length = static_cast<int64_t>(request.prompt.size());
    const Result<Embedding> expected = plain.Embed(request);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    EXPECT_EQ(static_cast<int64_t>(expected->values.size()), plain.embedding_width());
    EXPECT_EQ(expected->prompt_tokens, length);
    EXPECT_EQ(expected->cached_tokens, 0);
    EXPECT_NEAR(std::inner_product(expected->values.begin(), expected->values.end(),
                                   expected->values.begin(), 0.0),
                1.0, 1e-6);
    // Cut into chunks, behind a generation, found in the cache.
    Engine other = Make({.max_chunk = 3, .kv_types = KvCacheType::kF16});
    Generate(other, Ask("Once upon a time there was a fox", 2));
    const Result<Embedding> found = other.Embed(request);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->values, expected->values);
    // A mean needs all hidden states, and the cache has none.
    EXPECT_EQ(found->cached_tokens, pooling == Pooling::kLast ? length - 1 : 0);
    EXPECT_NE(other.Embed(Pooled(Ask("Once upon a time there was a dog", 0), pooling))->values,
              expected->values);
  }
}

TEST_F(EngineTrafficTest, LastAndMeanAreTheSameForOneTokenOnly) {
  Engine engine = Make();
  const auto embed = [&](std::vector<TokenId> prompt, Pooling pooling) {
    return engine.Embed({.prompt = std::move(prompt), .pooling = pooling})->values;
  };
  EXPECT_EQ(embed({5}, Pooling::kLast), embed({5}, Pooling::kMean));
  EXPECT_NE(embed({5, 6}, Pooling::kLast), embed({5, 6}, Pooling::kMean));
}

// Of a text in one direction the first token's state is that of a text of this token alone, however
// many steps the others take.
TEST_F(EngineTrafficTest, TheFirstTokensEmbeddingIsOfItAlone) {
  Engine engine = Make({.max_chunk = 3});
  const auto embed = [&](std::vector<TokenId> prompt, Pooling pooling) {
    return engine.Embed({.prompt = std::move(prompt), .pooling = pooling})->values;
  };
  const std::vector<float> alone = embed({5}, Pooling::kLast);
  EXPECT_EQ(embed({5, 6, 7, 8, 9, 10, 11}, Pooling::kFirst), alone);
  EXPECT_EQ(embed({5, 6}, Pooling::kFirst), alone);
}

TEST_F(EngineTrafficTest, AnEmbeddingIsAnEventAndNoToken) {
  Engine engine = Make({.max_chunk = 4});
  const auto queue = std::make_shared<EventQueue>();
  ASSERT_TRUE(engine.Submit(Pooled(Ask("Once upon", 3), Pooling::kMean), queue).ok());
  std::string story;
  for (const Event& event : ReadAll(*queue)) {
    if (!event.Is<ChunkEvent>()) story += std::string(EventName(event)) + "; ";
  }
  EXPECT_EQ(story, "queued; admitted; embedding; sequence finished; finished; ");
  EXPECT_EQ(engine.Embed(Ask("Once upon", 3)).status().code(), ErrorCode::kInvalidArgument);
}

TEST_F(EngineTrafficTest, CancelEndsARequestAndFreesItsPages) {
  Engine engine = Make({.context = 4096});
  const auto queue = std::make_shared<EventQueue>(100000);
  const auto id = engine.Submit(Ask("Once upon a time", 3000), queue);
  ASSERT_TRUE(id.ok());
  while (!queue->Next().Is<TokenEvent>()) {
  }
  engine.Cancel(*id);
  EXPECT_EQ(EndOf(*queue), "cancelled");
  engine.Cancel(*id);             // ended already
  engine.Cancel(RequestId{999});  // never was
  EXPECT_EQ(StatsAfter(engine, 1).pages_held, 0);
}

TEST_F(EngineTrafficTest, ACancelStormLeavesNoPageAndTheNextRequestRuns) {
  Engine engine = Make({.context = 64, .kv_positions = 256, .max_running = 8});
  std::vector<std::shared_ptr<EventQueue>> queues;
  for (uint64_t i = 0; i < 300; ++i) {
    queues.push_back(std::make_shared<EventQueue>());
    Request request = Ask(i % 2 == 0 ? "Once upon a time" : "The fox", 20, i);
    request.n = 1 + static_cast<int32_t>(i % 3);
    const auto id = engine.Submit(std::move(request), queues.back());
    ASSERT_TRUE(id.ok());
    if (i % 4 != 0) engine.Cancel(*id);
  }
  for (size_t i = 0; i < queues.size(); ++i) {
    EXPECT_EQ(EndOf(*queues[i]), i % 4 != 0 ? "cancelled" : "length");
  }
  Generate(engine, Ask("Once", 1));
  const EngineStats stats = StatsAfter(engine, 301);
  EXPECT_EQ(stats.pages_held, 0);
  EXPECT_EQ(stats.pages_free + stats.pages_cached, stats.pages_total);
  EXPECT_EQ(stats.running + stats.waiting, 0);
}

TEST_F(EngineTrafficTest, AFullQueueRefusesWithTheNumbers) {
  Engine engine = Make({.max_running = 1, .max_queued = 2});
  std::vector<std::shared_ptr<EventQueue>> queues;
  Status refused;
  for (int i = 0; i < 40 && refused.ok(); ++i) {
    queues.push_back(std::make_shared<EventQueue>());
    refused = engine.Submit(Ask("Once upon a time", 400), queues.back()).status();
  }
  EXPECT_EQ(ErrorCodeName(refused.code()), ErrorCodeName(ErrorCode::kUnavailable));
  EXPECT_NE(refused.message().find("the queue is full: 2 requests wait, at most 2"),
            std::string::npos)
      << refused.message();
  EXPECT_EQ(engine.Stats().refused, 1);
}

TEST_F(EngineTrafficTest, ASlowReaderLosesNothing) {
  Engine engine = Make();
  const auto small = std::make_shared<EventQueue>(4);
  const Request request = Ask("Once upon a time", 30);
  ASSERT_TRUE(engine.Submit(request, small).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::vector<TokenId> tokens = ReadTranscript(*small).best().tokens;
  EXPECT_EQ(tokens, Generate(engine, request).tokens);
  EXPECT_EQ(engine.Submit(request, std::make_shared<EventQueue>(3)).status().code(),
            ErrorCode::kInvalidArgument);
}

TEST_F(EngineTrafficTest, AReaderThatClosesItsQueueCancels) {
  Engine engine = Make({.context = 4096});
  const auto queue = std::make_shared<EventQueue>(8);
  ASSERT_TRUE(engine.Submit(Ask("Once upon a time", 3000), queue).ok());
  queue->Next();
  queue->Close();
  const EngineStats stats = StatsAfter(engine, 1);
  EXPECT_EQ(stats.finished[static_cast<size_t>(FinishReason::kCancelled)], 1);
  EXPECT_EQ(stats.running, 0);
}

TEST_F(EngineTrafficTest, SequencesOfARequestAreThoseOfTheirNumbers) {
  Engine engine = Make();
  Request request = Ask("Once upon a time", 20, 7);
  const Completion one = Generate(engine, request);
  request.n = 4;
  const Completion four = Generate(engine, request);
  EXPECT_EQ(four.tokens, one.tokens);
  ASSERT_EQ(four.others.size(), 3u);
  for (const Alternative& other : four.others) {
    EXPECT_EQ(other.tokens.size(), 20u);
    EXPECT_NE(other.tokens, one.tokens);
  }
  EXPECT_NE(four.others[0].tokens, four.others[1].tokens);
}

TEST_F(EngineTrafficTest, BestOfChoosesTheLikeliest) {
  Engine engine = Make();
  Request request = Ask("Once upon a time", 12, 3);
  request.sampling.temperature = 1.5;
  request.best_of = 5;
  const auto queue = std::make_shared<EventQueue>(1000);
  ASSERT_TRUE(engine.Submit(request, queue).ok());
  const Transcript answer = ReadTranscript(*queue, request);
  ASSERT_EQ(answer.sequences.size(), 5u);
  const auto sum = [](const TranscriptSequence& sequence) {
    EXPECT_EQ(sequence.logprobs.size(), 12u);
    return std::accumulate(sequence.logprobs.begin(), sequence.logprobs.end(), 0.0);
  };
  const auto best = std::max_element(
      answer.sequences.begin(), answer.sequences.end(),
      [&](const TranscriptSequence& a, const TranscriptSequence& b) { return sum(a) < sum(b); });
  EXPECT_EQ(answer.best().tokens, best->tokens);
  EXPECT_EQ(Generate(engine, request).tokens, best->tokens);
}

TEST_F(EngineTrafficTest, NothingEndsATextBeforeMinTokens) {
  Engine engine = Make();
  Request request = Ask("Once upon a time", 30);
  request.sampling.logit_bias = {{model_->tokenizer().eos_id(), 1e6f}};
  request.stop.ignore_eos = false;
  EXPECT_EQ(Generate(engine, request).tokens.size(), 1u);
  request.stop.min_tokens = 9;
  EXPECT_EQ(Generate(engine, request).tokens.size(), 10u);
}

TEST_F(EngineTrafficTest, ADeadlineEndsARequest) {
  Engine engine = Make({.context = 4096});
  Request request = Ask("Once upon a time", 4000);
  request.deadline_seconds = 0.02;
  const Completion done = Generate(engine, request);
  EXPECT_EQ(FinishReasonName(done.reason), "deadline");
  EXPECT_LT(done.tokens.size(), 4000u);
}

TEST_F(EngineTrafficTest, TheEndOfAnEngineEndsItsRequests) {
  const auto queue = std::make_shared<EventQueue>(100000);
  {
    Engine engine = Make({.context = 4096});
    ASSERT_TRUE(engine.Submit(Ask("Once upon a time", 4000), queue).ok());
  }
  EXPECT_EQ(EndOf(*queue), "cancelled");
}

}  // namespace
}  // namespace skald
